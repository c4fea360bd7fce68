#include "tenon/data/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tenon/base/file.h"
#include "tenon/data/input_text.h"

namespace tenon {

Corpus::Corpus(const std::string& path) {
  const std::vector<std::string> files = list_inputs({path}).value();
  for (const std::string& file : files) {
    if (file.ends_with(".txt")) {
      add_file(file);
    } else {
      add_lines(file);
    }
  }
  if (!documents_.empty()) return;
  throw Error(ErrorCode::invalid_argument, "no document has any text")
      .at(path)
      .got(fmt::format("{} files, {} of them empty", files.size(), empty_files_.size()));
}

void Corpus::add_file(const std::string& path) {
  MappedFile file = MappedFile::open(path).value();
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.empty()) {
    empty_files_.push_back(path);
    return;
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const size_t bad = find_bad_text(text); bad < text.size()) {
    throw bad_text_error(text[bad] == '\0', bad).at(path);
  }
  files_.push_back(std::move(file));
  add(text);
}

void Corpus::add_lines(const std::string& path) {
  TextReader reader({path});
  while (std::optional<RawText> raw = reader.next()) {
    std::string text = clean_text(std::move(*raw), {}).text;
    if (!text.empty()) add(texts_.emplace_back(std::move(text)));
  }
  empty_files_.insert(empty_files_.end(), reader.empty_files().begin(), reader.empty_files().end());
}

void Corpus::add(std::string_view text) {
  documents_.push_back(text);
  num_bytes_ += static_cast<int64_t>(text.size());
}

std::vector<Document> Corpus::range(int64_t begin, int64_t end) const {
  std::vector<Document> documents;
  int64_t offset = 0;
  for (const std::string_view text : documents_) {
    const auto length = static_cast<int64_t>(text.size());
    const int64_t from = std::clamp(begin - offset, int64_t{0}, length);
    const int64_t to = std::clamp(end - offset, int64_t{0}, length);
    offset += length;
    if (from >= to) continue;
    const std::string_view part = text.substr(static_cast<size_t>(from), static_cast<size_t>(to - from));
    documents.push_back({std::as_bytes(std::span(part)), to == length});
  }
  return documents;
}

}  // namespace tenon
