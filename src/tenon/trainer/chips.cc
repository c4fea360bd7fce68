#include "tenon/trainer/chips.h"

#include <fmt/format.h>

#include <cmath>

#include "tenon/base/text.h"
#include "tenon/config/toml.h"
#include "tenon/trainer/chips_toml.h"

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

double read_peak(const Value& value) {
  const double tera = read<double>(value, "a number of TFLOPS with a point");
  if (!(tera > 0 && tera <= 1e6)) {
    throw Error(ErrorCode::invalid_argument, "not a speed").at(value.where).got(format_float(tera));
  }
  return tera * 1e12;
}

Chip read_chip(const Value::Entry& row) {
  Chip chip;
  chip.name = row.key;
  for (const auto& [key, value] : read<Value::Table>(row.value, "a table")) {
    if (key == "memory_gib") {
      chip.memory_bytes = read_memory(value);
    } else if (key == "source") {
      chip.source = read<std::string>(value, "a text");
    } else if (key == "device_kind") {
      chip.device_kind = read<std::string>(value, "a text");
    } else if (key == "bf16_tflops") {
      chip.peak_flops = read_peak(value);
    } else if (key == "bf16_source") {
      chip.peak_source = read<std::string>(value, "a text");
    } else {
      throw Error(ErrorCode::unknown_name, fmt::format("a chip has no \"{}\"", key))
          .at(value.where)
          .expected("memory_gib, source, device_kind, bf16_tflops, bf16_source");
    }
  }
  if (chip.memory_bytes == 0 || chip.source.empty()) {
    throw Error(ErrorCode::missing_field, fmt::format("chip {} lacks memory_gib or source", row.key))
        .at(row.value.where);
  }
  if (chip.device_kind.empty() || chip.peak_flops == 0 || chip.peak_source.empty()) {
    throw Error(ErrorCode::missing_field, fmt::format("chip {} lacks device_kind, bf16_tflops or bf16_source", row.key))
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

const Chip* ChipTable::find_device(std::string_view device_kind) const {
  for (const Chip& chip : chips_) {
    if (chip.device_kind == device_kind) return &chip;
  }
  return nullptr;
}

}  // namespace tenon
