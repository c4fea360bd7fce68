#include "tenon/data/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tenon/base/file.h"
#include "tenon/data/input_text.h"

namespace tenon {
namespace {

constexpr std::string_view kHint = "the path is a text file or a folder with .txt files";

Result<std::vector<std::string>> document_paths(const std::string& path) {
  if (!exists(path)) return Error(ErrorCode::not_found, "no such text").at(path).hint(std::string(kHint));
  if (!is_dir(path)) return std::vector<std::string>{path};
  const Result<std::vector<std::string>> names = list_dir(path);
  if (!names.ok()) return names.error();
  std::vector<std::string> paths;
  for (const std::string& name : *names) {
    if (name.ends_with(".txt")) paths.push_back(join_path(path, name));
  }
  if (!paths.empty()) return paths;
  return Error(ErrorCode::not_found, "no .txt file in the folder")
      .at(path)
      .got(fmt::format("{} other entries", (*names).size()))
      .hint(std::string(kHint));
}

Status check_text(const MappedFile& file) {
  const auto bytes = file.bytes();
  if (bytes.empty()) return Error(ErrorCode::damaged, "the file is empty").at(file.path());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t bad = find_bad_text(text);
  if (bad == text.size()) return {};
  return bad_text_error(text[bad] == '\0', bad)
      .at(file.path())
      .hint("convert the file to UTF-8, or prepare it: tenon data prepare " + file.path() +
            " --out DIR --bad_text replace");
}

}  // namespace

Result<Corpus> Corpus::open(const std::string& path) {
  const Result<std::vector<std::string>> paths = document_paths(path);
  if (!paths.ok()) return paths.error();
  Corpus corpus;
  for (const std::string& document : *paths) {
    Result<MappedFile> file = MappedFile::open(document);
    if (!file.ok()) return file.error();
    if (const Status text = check_text(*file); !text.ok()) return text.error();
    corpus.num_bytes_ += static_cast<int64_t>(file->bytes().size());
    corpus.files_.push_back(std::move(*file));
  }
  return corpus;
}

std::vector<Document> Corpus::range(int64_t begin, int64_t end) const {
  std::vector<Document> documents;
  int64_t offset = 0;
  for (const MappedFile& file : files_) {
    const auto length = static_cast<int64_t>(file.bytes().size());
    const int64_t from = std::clamp(begin - offset, int64_t{0}, length);
    const int64_t to = std::clamp(end - offset, int64_t{0}, length);
    offset += length;
    if (from >= to) continue;
    documents.push_back(
        {file.bytes().subspan(static_cast<size_t>(from), static_cast<size_t>(to - from)), to == length});
  }
  return documents;
}

}  // namespace tenon
