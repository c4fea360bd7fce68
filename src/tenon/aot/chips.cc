#include "tenon/aot/chips.h"

#include <fmt/format.h>

#include <cmath>

#include "tenon/aot/chips_toml.h"
#include "tenon/base/text.h"
#include "tenon/config/toml.h"

namespace tenon {
namespace {

constexpr double kGib = 1073741824.0, kMaxGib = 1e6;

template <class T>
const T& read(const Value& value, std::string_view expected) {
  const T* got = value.as<T>();
  if (got == nullptr) {
    throw Error(ErrorCode::wrong_type, fmt::format("not {}", expected)).at(value.where).got(value.describe());
  }
  return *got;
}

int64_t read_memory(const Value& value) {
  const double gib = read<double>(value, "a number of GiB with a point");
  if (!(gib > 0 && gib <= kMaxGib)) {
    throw Error(ErrorCode::invalid_argument, "not a size of memory").at(value.where).got(format_float(gib));
  }
  return std::llround(gib * kGib);
}

Chip read_chip(const Value::Entry& row) {
  Chip chip{row.key, 0, ""};
  for (const auto& [key, value] : read<Value::Table>(row.value, "a table")) {
    if (key == "memory_gib") {
      chip.memory_bytes = read_memory(value);
    } else if (key == "source") {
      chip.source = read<std::string>(value, "a text");
    } else {
      throw Error(ErrorCode::unknown_name, fmt::format("a chip has no \"{}\"", key))
          .at(value.where)
          .expected("memory_gib, source");
    }
  }
  if (chip.memory_bytes == 0 || chip.source.empty()) {
    throw Error(ErrorCode::missing_field, fmt::format("chip {} lacks memory_gib or source", row.key))
        .at(row.value.where);
  }
  return chip;
}

}  // namespace

Result<ChipTable> ChipTable::parse(std::string_view text, const std::string& filename) {
  const Result<Value> parsed = parse_toml(text, filename);
  if (!parsed) return parsed.error();
  ChipTable table;
  try {
    for (const Value::Entry& row : read<Value::Table>(*parsed, "a table")) table.chips_.push_back(read_chip(row));
  } catch (const Error& e) {
    return e;
  }
  return table;
}

const ChipTable& ChipTable::builtin() {
  static const auto* table = new ChipTable(parse(kChipsToml, "chips.toml").value());
  return *table;
}

const Chip& ChipTable::find(std::string_view name) const {
  std::vector<std::string> names;
  for (const Chip& chip : chips_) {
    if (chip.name == name) return chip;
    names.push_back(chip.name);
  }
  throw Error(ErrorCode::unknown_name, fmt::format("no chip is called {}", quote_text(name)))
      .expected(join(names, ", "))
      .hint(did_you_mean(name, names));
}

}  // namespace tenon
