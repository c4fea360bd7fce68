#include "tenon/experiments/overlay_file.h"

#include <algorithm>
#include <filesystem>

#include "tenon/base/file.h"
#include "tenon/base/text.h"
#include "tenon/config/toml.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;
constexpr size_t kMaxBases = 20;
constexpr const char* kBase = "base";

// The same for two paths of one file; one that can't be followed stands for itself.
fs::path resolved(const std::string& path) {
  std::error_code code;
  fs::path whole = fs::weakly_canonical(path, code);
  return code ? fs::path(path).lexically_normal() : whole;
}

// Throws unless `path`, named at `where`, may be read after `chain`: the files that led there.
void check_chain(const std::vector<std::string>& chain, const std::string& path, const std::string& where) {
  const bool again = std::any_of(chain.begin(), chain.end(),
                                 [&](const std::string& file) { return resolved(file) == resolved(path); });
  if (again) {
    throw Error(ErrorCode::invalid_argument, "bases form a cycle").at(where).got(join(chain, " on ") + " on " + path);
  }
  if (chain.size() > kMaxBases) {
    throw Error(ErrorCode::invalid_argument, "more than 20 files, each the base of another").at(where);
  }
}

std::string read_base(const std::string& path, const std::string& where) {
  Result<std::string> text = read_file(path);
  if (text.ok()) return std::move(text).value();
  throw Error(text.error().code(), "the base can't be read: " + text.error().message()).at(where).got(quote(path));
}

void read_into(OverlayFile& out, std::vector<std::string>& chain, const std::string& path, const std::string& where) {
  check_chain(chain, path, where);
  Value whole = parse_toml(where.empty() ? read_file(path).value() : read_base(path, where), path).value();
  chain.push_back(path);
  Value::Table rest;
  for (Value::Entry& entry : *whole.as<Value::Table>()) {
    if (entry.key != kBase) {
      rest.push_back(std::move(entry));
      continue;
    }
    const auto* base = entry.value.as<std::string>();
    if (base == nullptr) {
      throw value_error(ErrorCode::wrong_type, entry.value, "a base is a file or an experiment")
          .at(kBase)
          .got(entry.value.describe())
          .expected("a string");
    }
    if (is_overlay_file(*base)) {
      read_into(out, chain, fs::path(path).parent_path() / *base, entry.value.where);
    } else {
      out.experiment = *base;
      out.where = entry.value.where;
    }
  }
  chain.pop_back();
  Value table(std::move(rest));
  table.where = whole.where;
  out.tables.push_back(std::move(table));
}

}  // namespace

OverlayFile read_overlay(const std::string& path) {
  OverlayFile out;
  std::vector<std::string> chain;
  read_into(out, chain, path, "");
  return out;
}

bool is_overlay_file(std::string_view name) { return name.ends_with(".toml"); }

}  // namespace tenon
