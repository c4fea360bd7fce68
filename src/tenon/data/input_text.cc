#include "tenon/data/input_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tenon/base/file.h"
#include "tenon/base/json.h"
#include "tenon/base/text.h"
#include "tenon/base/utf8.h"

namespace tenon {
namespace {

constexpr std::string_view kEndings[] = {".txt", ".jsonl", ".jsonl.gz"};

bool is_input(std::string_view name) {
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](std::string_view e) { return name.ends_with(e); });
}

// `within`: the folders it lies in, without links.
Status add_inputs(const std::string& path, bool named, std::vector<std::string>& files,
                  const std::vector<std::filesystem::path>& within = {}) {
  if (path.empty()) return Error(ErrorCode::invalid_argument, "the path of a text is empty");
  if (!exists(path)) return Error(ErrorCode::not_found, "no such file or folder").at(path);
  if (!is_dir(path)) {
    if (is_input(path)) {
      files.push_back(path);
    } else if (named) {
      return Error(ErrorCode::unsupported, "not a file of texts")
          .at(path)
          .expected("a name that ends in .txt, .jsonl or .jsonl.gz");
    }
    return {};
  }
  std::error_code code;
  std::vector<std::filesystem::path> folders = within;
  folders.push_back(std::filesystem::canonical(path, code));
  if (code) return system_error(code.value(), "follow", path);
  if (std::find(within.begin(), within.end(), folders.back()) != within.end()) {
    return Error(ErrorCode::invalid_argument, "a link makes the folder its own part").at(path).hint("remove it");
  }
  const Result<std::vector<std::string>> names = list_dir(path);
  if (!names.ok()) return names.error();
  const size_t before = files.size();
  for (const std::string& name : *names) {
    if (name.starts_with('.')) continue;  // what programs keep for themselves
    if (Status added = add_inputs(join_path(path, name), false, files, folders); !added.ok()) return added;
  }
  if (!named || files.size() > before) return {};
  return Error(ErrorCode::not_found, "no .txt, .jsonl or .jsonl.gz in the folder").at(path);
}

}  // namespace

Result<std::vector<std::string>> list_inputs(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (const Status added = add_inputs(path, true, files); !added.ok()) return added.error();
  }
  std::set<std::filesystem::path> seen;
  for (const std::string& file : files) {
    if (seen.insert(std::filesystem::path(file).lexically_normal()).second) continue;
    return Error(ErrorCode::invalid_argument, "the file is named twice").at(file);
  }
  return files;
}

TextReader::TextReader(std::vector<std::string> files) : files_(std::move(files)) {
  for (const std::string& file : files_) total_ += file_size(file).value();
}
TextReader::~TextReader() = default;

uint64_t TextReader::bytes_read() const { return done_ + (lines_ ? lines_->bytes_read() : 0); }

std::optional<RawText> TextReader::next() {
  while (true) {
    if (lines_) {
      const std::string& path = files_[file_ - 1];
      while (std::optional<FileLine> line = lines_->next()) {
        if (line->bytes.find_first_not_of(" \t\r") == std::string::npos) continue;
        return RawText{std::move(line->bytes), &path, line->offset, line->number};
      }
      lines_.reset();
      done_ += file_size(path).value();
    }
    if (file_ == files_.size()) return std::nullopt;
    const std::string& path = files_[file_++];
    if (path.ends_with(".txt")) {
      if (std::optional<RawText> text = whole_file(path)) return text;
      continue;
    }
    lines_ = std::make_unique<LineReader>(path, kMaxDocumentBytes);
    if (lines_->empty()) empty_.push_back(path);
  }
}

std::optional<RawText> TextReader::whole_file(const std::string& path) {
  const uint64_t size = file_size(path).value();
  if (size > kMaxDocumentBytes) {
    throw Error(ErrorCode::unsupported, "the document is too long")
        .at(path)
        .got(format_bytes(size))
        .expected(fmt::format("at most {}", format_bytes(kMaxDocumentBytes)))
        .hint("cut it into several, as `split -C 100m --additional-suffix=.txt FILE PREFIX` does");
  }
  RawText out{read_file(path, kMaxDocumentBytes).value(), &path, 0, 0};
  done_ += size;
  if (!out.bytes.empty()) return out;
  empty_.push_back(path);
  return std::nullopt;
}

size_t find_bad_text(std::string_view text) { return utf8_prefix(text.substr(0, text.find('\0'))); }

Error bad_text_error(bool zero, uint64_t at) {
  return Error(ErrorCode::damaged, fmt::format("the text {} at byte {}", zero ? "has a zero byte" : "isn't UTF-8", at))
      .hint("convert the file to UTF-8, or choose --bad_text replace or skip of `tenon data prepare`");
}

namespace {

// Goes over the text once, however much of it is bad.
std::string replace_bad(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  while (!text.empty()) {
    const size_t good = utf8_prefix(text);
    for (const char c : text.substr(0, good)) {
      if (c == '\0') {
        out += kReplacement;
      } else {
        out += c;
      }
    }
    if (good < text.size()) out += kReplacement;
    text.remove_prefix(std::min(good + 1, text.size()));
  }
  return out;
}

Error bad_line(const RawText& raw, const std::string& what) {
  return Error(ErrorCode::damaged, what).at(fmt::format("{}:{}", *raw.path, raw.line)).got(quote_text(raw.bytes));
}

std::string member_text(const RawText& raw, const std::string& field) {
  const Result<Json> json = Json::parse(raw.bytes);
  if (!json.ok()) throw bad_line(raw, "the line isn't JSON");
  const Json* value = (*json).find(field);
  if (value == nullptr) {
    std::vector<std::string> names;
    if (const auto* members = (*json).as<Json::Object>()) {
      for (const Json::Member& member : *members) names.push_back(member.key);
    }
    throw bad_line(raw, "the line has no member " + quote_text(field))
        .hint("--field of `tenon data prepare` names the one that has the text")
        .expected(names.empty() ? "an object" : "one of " + quote_text(join(names, ", ")));
  }
  if (const auto* text = value->as<std::string>()) return *text;
  throw bad_line(raw, "the member " + quote_text(field) + " is not a string");
}

}  // namespace

CleanText clean_text(RawText raw, const TextOptions& options) {
  const size_t bad_raw = find_bad_text(raw.bytes);
  CleanText out{{}, bad_raw < raw.bytes.size()};
  if (out.bad && options.bad_text == BadText::skip) return out;
  if (out.bad && options.bad_text == BadText::replace) raw.bytes = replace_bad(raw.bytes);
  if (!out.bad || options.bad_text == BadText::replace) {
    out.text = raw.line > 0 ? member_text(raw, options.field) : std::move(raw.bytes);
    if (find_bad_text(out.text) == out.text.size()) return out;
    // A zero byte that JSON spells out.
    out.bad = true;
    if (options.bad_text == BadText::skip) return {{}, true};
    if (options.bad_text == BadText::replace) return {replace_bad(out.text), true};
  }
  // A zero byte that JSON spells out has no place of its own.
  const bool in_file = bad_raw < raw.bytes.size(), zero = !in_file || raw.bytes[bad_raw] == '\0';
  throw bad_text_error(zero, raw.offset + (in_file ? bad_raw : 0))
      .at(raw.line > 0 ? fmt::format("{}:{}", *raw.path, raw.line) : *raw.path);
}

}  // namespace tenon
