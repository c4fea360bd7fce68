#include "tenon/base/error.h"

#include <fmt/format.h>

#include <array>

namespace tenon {
namespace {

struct CodeRow {
  std::string_view name;
  int exit_status;
};

constexpr std::array<CodeRow, 21> kCodes = {{
    {"invalid_argument", 2},
    {"unknown_name", 2},
    {"wrong_type", 2},
    {"missing_field", 2},
    {"shape_mismatch", 2},
    {"wrong_context", 2},
    {"not_differentiable", 2},
    {"unsupported", 2},
    {"mesh_mismatch", 2},
    {"plugin", 4},
    {"compile", 4},
    {"out_of_memory", 3},
    {"not_found", 5},
    {"damaged", 5},
    {"incompatible", 5},
    {"io", 6},
    {"no_space", 6},
    {"non_finite", 7},
    {"stalled", 8},
    {"interrupted", 130},
    {"internal", 70},
}};
static_assert(kCodes.size() == static_cast<size_t>(ErrorCode::internal) + 1);

// Whether a path begins with a file's: module and config paths have no slash.
bool begins_with_file(std::string_view path) {
  return path.substr(0, path.find(": ")).find('/') != std::string_view::npos;
}

}  // namespace

std::string_view to_string(ErrorCode code) { return kCodes.at(static_cast<size_t>(code)).name; }
int exit_status(ErrorCode code) { return kCodes.at(static_cast<size_t>(code)).exit_status; }

Error::Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) { render(); }

Error& Error::at(std::string path) & {
  path_ = std::move(path);
  render();
  return *this;
}
Error&& Error::at(std::string path) && { return std::move(at(std::move(path))); }

Error& Error::prefix(std::string_view outer) {
  if (outer.empty()) return *this;
  const bool continues = path_.empty() || path_.front() == '[';
  path_ = fmt::format("{}{}{}", outer, continues ? "" : begins_with_file(path_) ? ": " : ".", path_);
  render();
  return *this;
}

Error&& Error::got(std::string text) && {
  got_ = std::move(text);
  render();
  return std::move(*this);
}
Error&& Error::expected(std::string text) && {
  expected_ = std::move(text);
  render();
  return std::move(*this);
}
Error&& Error::hint(std::string text) && {
  hint_ = std::move(text);
  render();
  return std::move(*this);
}

void Error::render() {
  text_ = std::string(to_string(code_));
  if (!path_.empty()) text_ += " at " + path_;
  text_ += ": " + message_;
  if (!got_.empty() && !expected_.empty()) {
    text_ += fmt::format(" (got {}, expected {})", got_, expected_);
  } else if (!got_.empty() || !expected_.empty()) {
    text_ += got_.empty() ? fmt::format(" (expected {})", expected_) : fmt::format(" (got {})", got_);
  }
  if (!hint_.empty()) text_ += ". Hint: " + hint_;
}

void check(bool condition, std::string_view what, const char* file, int line) {
  if (!condition) throw Error(ErrorCode::internal, std::string(what)).at(fmt::format("{}:{}", file, line));
}

}  // namespace tenon
