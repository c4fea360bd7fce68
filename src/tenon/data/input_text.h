// Texts in files: .txt, .jsonl and .jsonl.gz.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/result.h"
#include "tenon/data/line_reader.h"

namespace tenon {

// All files that `paths` name, folders' files with those endings among them, in the order of their names; of what is in
// folders, names that begin with a dot are passed over. `not_found` when one isn't there or a folder has none,
// `unsupported` for a file of another ending, `invalid_argument` for one that is named twice.
Result<std::vector<std::string>> list_inputs(const std::vector<std::string>& paths);

// A document as it stands in a file: a whole .txt, or a line of a .jsonl.
struct RawText {
  std::string bytes;
  const std::string* path = nullptr;  // of the reader that gave it, which must outlive it
  uint64_t offset = 0;                // of its first byte in the file, in what a .gz unpacks to
  uint64_t line = 0;                  // from 1; 0: not a line of JSON
};

// Goes through files front to back. For one thread.
class TextReader {
 public:
  static constexpr uint64_t kMaxDocumentBytes = uint64_t{256} << 20;

  explicit TextReader(std::vector<std::string> files);
  ~TextReader();
  // The next document; none behind the last. Blank lines are passed over. Throws `damaged` for a .gz that is none or is
  // cut, `unsupported` for a document longer than kMaxDocumentBytes.
  std::optional<RawText> next();
  const std::vector<std::string>& files() const { return files_; }
  // Files that were empty, so far.
  const std::vector<std::string>& empty_files() const { return empty_; }
  // Bytes of files read so far, as they are on disk, and of all.
  uint64_t bytes_read() const;
  uint64_t bytes_total() const { return total_; }

 private:
  std::optional<RawText> whole_file(const std::string& path);
  const std::vector<std::string> files_;
  std::vector<std::string> empty_;
  size_t file_ = 0;  // the one to open next
  std::unique_ptr<LineReader> lines_;
  uint64_t done_ = 0, total_ = 0;
};

// Where the first byte is that no text has: of bytes that aren't UTF-8, or a zero byte. The end when there is none.
size_t find_bad_text(std::string_view text);
// `damaged`: that a text isn't UTF-8 at byte `at` of its file, or has a zero byte there.
Error bad_text_error(bool zero, uint64_t at);

// What becomes of a document that isn't text: bytes that aren't UTF-8, or a zero byte.
enum class BadText : uint8_t { error, replace, skip };

struct TextOptions {
  // Of a line of JSON, the text: a member's name.
  std::string field = "text";
  BadText bad_text = BadText::error;
};

struct CleanText {
  std::string text;
  bool bad = false;  // it was not text: replaced, or skipped and empty
};

// The text of a document. Throws `damaged`, with file and byte offset: a line that isn't JSON with the field as a
// string in it, and what `bad_text` calls an error. Bytes that are no text become U+FFFD each.
CleanText clean_text(RawText raw, const TextOptions& options);

}  // namespace tenon
