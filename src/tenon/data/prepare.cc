#include "tenon/data/prepare.h"

#include <fmt/format.h>

#include <deque>
#include <future>
#include <optional>

#include "tenon/base/file.h"
#include "tenon/base/lock_file.h"
#include "tenon/base/span.h"
#include "tenon/data/shard_writer.h"

namespace tenon {
namespace {

// What one thread tokenizes at a time.
constexpr uint64_t kChunkBytes = uint64_t{1} << 20;

struct EncodedChunk {
  std::vector<int32_t> tokens;  // of all documents
  struct Document {
    size_t num_tokens;
    uint64_t text_bytes;
  };
  std::vector<Document> documents;
  uint64_t empty = 0, bad = 0, unknown = 0;
};

EncodedChunk encode(std::vector<RawText> chunk, const Tokenizer& tokenizer, const TextOptions& options) {
  const Span span("tokenize");
  EncodedChunk out;
  for (RawText& raw : chunk) {
    const CleanText clean = clean_text(std::move(raw), options);
    out.bad += clean.bad ? 1 : 0;
    const size_t before = out.tokens.size();
    tokenizer.encode(clean.text, out.tokens);
    if (out.tokens.size() == before) {
      out.empty += clean.bad ? 0 : 1;
    } else {
      out.documents.push_back({out.tokens.size() - before, clean.text.size()});
    }
  }
  for (const int32_t token : out.tokens) out.unknown += tokenizer.is_special(token) ? 1 : 0;
  return out;
}

// Documents of about kChunkBytes; none at the end.
std::vector<RawText> next_chunk(TextReader& reader) {
  std::vector<RawText> chunk;
  for (uint64_t bytes = 0; bytes < kChunkBytes;) {
    std::optional<RawText> raw = reader.next();
    if (!raw) break;
    bytes += raw->bytes.size() + 1;
    chunk.push_back(std::move(*raw));
  }
  return chunk;
}

void check_out(const std::string& out) {
  if (!exists(out) || (is_dir(out) && list_dir(out).value().empty())) return;
  throw Error(ErrorCode::invalid_argument, "there is something already where prepared data should go")
      .at(out)
      .hint("choose another directory, or remove it");
}

// "data/" is "data".
std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

class Preparation {
 public:
  Preparation(const Tokenizer& tokenizer, const PrepareOptions& options, const std::string& dir)
      : tokenizer_(tokenizer),
        options_(options),
        reader_(list_inputs(options.inputs).value()),
        writer_(dir, tokenizer, options.shard_tokens) {}

  PrepareReport run() {
    std::deque<std::future<EncodedChunk>> pending;
    for (bool more = true; more || !pending.empty();) {
      std::vector<RawText> chunk;
      if (more) chunk = next_chunk(reader_);
      more = !chunk.empty();
      if (more) {
        pending.push_back(std::async(std::launch::async, [this, chunk = std::move(chunk)]() mutable {
          return encode(std::move(chunk), tokenizer_, options_.text);
        }));
      }
      if (!pending.empty() && (!more || static_cast<int64_t>(pending.size()) >= options_.jobs)) {
        write(pending.front().get());
        pending.pop_front();
      }
    }
    report_.files = static_cast<int64_t>(reader_.files().size());
    report_.empty_files = reader_.empty_files();
    if (report_.documents == 0) {
      throw Error(ErrorCode::invalid_argument, "no document has any text")
          .got(fmt::format("{} files, {} of them empty; {} documents empty, {} skipped that weren't UTF-8 text",
                           report_.files, report_.empty_files.size(), report_.empty_documents, report_.bad_documents));
    }
    report_.shards = static_cast<int64_t>(writer_.finish().shards.size());
    return report_;
  }

 private:
  void write(const EncodedChunk& chunk) {
    const Span span("write tokens");
    size_t at = 0;
    for (const EncodedChunk::Document& document : chunk.documents) {
      writer_.add(std::span(chunk.tokens).subspan(at, document.num_tokens), document.text_bytes);
      at += document.num_tokens;
      report_.text_bytes += document.text_bytes;
    }
    report_.documents += chunk.documents.size();
    report_.tokens += at;
    report_.empty_documents += chunk.empty;
    report_.bad_documents += chunk.bad;
    report_.unknown_tokens += chunk.unknown;
    if (!options_.on_progress) return;
    options_.on_progress({reader_.bytes_read(), reader_.bytes_total(), report_.documents, report_.tokens});
  }

  const Tokenizer& tokenizer_;
  const PrepareOptions& options_;
  TextReader reader_;
  ShardWriter writer_;
  PrepareReport report_;
};

}  // namespace

PrepareReport prepare_data(const Tokenizer& tokenizer, const PrepareOptions& options) {
  const std::string out = without_slashes(options.out);
  if (out.empty()) throw Error(ErrorCode::invalid_argument, "prepared data needs a directory to go to").at("out");
  constexpr int64_t kMaxJobs = 1024;  // each is a thread, and keeps a chunk
  if (options.jobs < 1 || options.jobs > kMaxJobs) {
    throw Error(ErrorCode::invalid_argument, "not a number of jobs")
        .at("jobs")
        .got(std::to_string(options.jobs))
        .expected("1 to " + std::to_string(kMaxJobs));
  }
  make_dirs(parent_dir(out)).value();
  const std::string aside = out + ".preparing", lock = aside + ".lock";
  const LockFile held = LockFile::acquire(lock).value();
  const RemoveAtEnd unlock(lock);
  check_out(out);
  remove_tree(aside).value();  // of a process that was killed
  make_new_dir(aside).value();
  const RemoveAtEnd cleanup(aside);
  PrepareReport report = Preparation(tokenizer, options, aside).run();
  rename_dir(aside, out).value();
  return report;
}

}  // namespace tenon
