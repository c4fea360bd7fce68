#include "tenon/runtime/saved_program.h"

#include <fmt/format.h>

#include <array>

#include "tenon/base/file.h"
#include "tenon/base/hash.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

constexpr std::string_view kMagic = "tenon-program-1";

struct Part {
  std::string_view name;
  std::string SavedProgram::Key::* value;
  std::string_view what;
};
constexpr std::array<Part, 4> kParts = {{
    {"program", &SavedProgram::Key::program, "another program"},
    {"flags", &SavedProgram::Key::flags, "other compile options"},
    {"plugin", &SavedProgram::Key::plugin, "another plugin"},
    {"chip", &SavedProgram::Key::chip, "another machine"},
}};

Error damaged(const std::string& path, std::string_view why) {
  return Error(ErrorCode::damaged, fmt::format("not a saved program: {}", why)).at(path);
}

// The next line of `rest`, without its end.
std::string_view take_line(std::string_view& rest) {
  const size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

}  // namespace

Status SavedProgram::write(const std::string& path) const {
  std::string text = fmt::format("{}\n", kMagic);
  for (const Part& part : kParts) text += fmt::format("{} {}\n", part.name, key.*part.value);
  text += fmt::format("sha256 {}\n", sha256_hex(bytes));
  return write_file_atomic(path, text + bytes);
}

Result<SavedProgram> SavedProgram::read(const std::string& path) {
  const Result<std::string> file = read_file(path);
  if (!file) return file.error();
  std::string_view rest = *file;
  if (take_line(rest) != kMagic) return damaged(path, "it begins with something else");
  SavedProgram out;
  for (const Part& part : kParts) {
    const std::string_view line = take_line(rest);
    if (!line.starts_with(fmt::format("{} ", part.name))) return damaged(path, fmt::format("no {}", part.name));
    out.key.*part.value = line.substr(part.name.size() + 1);
  }
  const std::string_view sum = take_line(rest);
  if (sum != fmt::format("sha256 {}", sha256_hex(rest))) return damaged(path, "its checksum is another");
  out.bytes = rest;
  return out;
}

Result<SavedProgram> SavedProgram::read(const std::string& path, const Key& expected) {
  Result<SavedProgram> out = read(path);
  if (!out) return out;
  for (const Part& part : kParts) {
    if ((*out).key.*part.value == expected.*part.value) continue;
    return Error(ErrorCode::incompatible, fmt::format("the program was compiled from {}", part.what))
        .at(path)
        .got(fmt::format("{} {}", part.name, (*out).key.*part.value))
        .expected(expected.*part.value)
        .hint("compile it again: tenon aot ... --save");
  }
  return out;
}

}  // namespace tenon
