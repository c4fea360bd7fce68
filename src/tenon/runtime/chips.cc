#include "tenon/runtime/chips.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "tenon/base/text.h"
#include "tenon/config/toml.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/chips_toml.h"

namespace tenon {
namespace {

constexpr double kGib = 1073741824.0, kMost = 1e7;

template <class T>
const T& read(const Value& value, std::string_view expected) {
  const T* got = value.as<T>();
  if (got == nullptr) {
    throw Error(ErrorCode::wrong_type, fmt::format("not {}", expected)).at(value.where).got(value.describe());
  }
  return *got;
}

// A number of `unit`, above 0.
double read_number(const Value& value, double unit) {
  const double number = read<double>(value, "a number with a point");
  if (!(number > 0 && number <= kMost)) {
    throw Error(ErrorCode::invalid_argument, "not an amount that a chip has").at(value.where).got(format_float(number));
  }
  return number * unit;
}

std::map<DType, double> read_peaks(const Value& value) {
  std::map<DType, double> out;
  for (const auto& [key, peak] : read<Value::Table>(value, "a table")) {
    const std::optional<DType> dtype = parse_dtype(key);
    if (!dtype) throw Error(ErrorCode::unknown_name, "no dtype is called so").at(peak.where).got(quote_text(key));
    out[*dtype] = read_number(peak, 1e12);
  }
  if (!out.contains(DType::bf16)) {
    throw Error(ErrorCode::missing_field, "the speed of other dtypes is taken from bf16's, which isn't here")
        .at(value.where);
  }
  return out;
}

std::string read_platform(const Value& value) {
  std::vector<std::string> known = pjrt::known_platforms();
  known.emplace_back("none");
  const auto& platform = read<std::string>(value, "a text");
  if (std::find(known.begin(), known.end(), platform) == known.end()) {
    throw Error(ErrorCode::unknown_name, "no such platform")
        .at(value.where)
        .got(quote_text(platform))
        .expected(join(known, ", "));
  }
  return platform;
}

int64_t read_devices(const Value& value, int64_t least) {
  const int64_t count = read<int64_t>(value, "a number of devices");
  if (count < least || count > int64_t{1} << 20) {
    throw Error(ErrorCode::invalid_argument, "not a number of devices").at(value.where).got(std::to_string(count));
  }
  return count;
}

using Reader = void (*)(Chip&, const Value&);
template <std::string Chip::* field>
void read_text(Chip& chip, const Value& value) {
  chip.*field = read<std::string>(value, "a text");
}

struct ChipField {
  std::string_view key;
  Reader read;
  bool required = true;
};
constexpr ChipField kFields[] = {
    {"platform", [](Chip& c, const Value& v) { c.platform = read_platform(v); }},
    {"device_kind", read_text<&Chip::device_kind>, false},
    {"memory_gib", [](Chip& c, const Value& v) { c.memory_bytes = std::llround(read_number(v, kGib)); }},
    {"memory_source", read_text<&Chip::memory_source>},
    {"memory_gb_s", [](Chip& c, const Value& v) { c.memory_speed = read_number(v, 1e9); }},
    {"bandwidth_source", read_text<&Chip::bandwidth_source>},
    {"tflops", [](Chip& c, const Value& v) { c.peaks = read_peaks(v); }},
    {"tflops_source", read_text<&Chip::peak_source>},
    {"link_gb_s", [](Chip& c, const Value& v) { c.link_speed = read_number(v, 1e9); }},
    {"link_source", read_text<&Chip::link_source>},
    {"devices_per_chip", [](Chip& c, const Value& v) { c.devices_per_chip = read_devices(v, 1); }, false},
    {"host_devices", [](Chip& c, const Value& v) { c.host_devices = read_devices(v, 0); }},
    {"network_gb_s", [](Chip& c, const Value& v) { c.network_speed = read_number(v, 1e9); }},
    {"network_source", read_text<&Chip::network_source>},
};

Chip read_chip(const Value::Entry& row) {
  Chip chip;
  chip.name = row.key;
  const auto& table = read<Value::Table>(row.value, "a table");
  for (const auto& [key, value] : table) {
    std::vector<std::string> names;
    const ChipField* found = nullptr;
    for (const ChipField& field : kFields) {
      names.emplace_back(field.key);
      if (field.key == key) found = &field;
    }
    if (found == nullptr) {
      throw Error(ErrorCode::unknown_name, fmt::format("a chip has no {}", quote_text(key)))
          .at(value.where)
          .expected(join(names, ", "))
          .hint(did_you_mean(key, names));
    }
    found->read(chip, value);
  }
  for (const ChipField& field : kFields) {
    if (!field.required || row.value.find(field.key) != nullptr) continue;
    throw Error(ErrorCode::missing_field, fmt::format("chip {} lacks {}", row.key, field.key)).at(row.value.where);
  }
  return chip;
}

}  // namespace

double Chip::peak(DType dtype) const {
  auto at = peaks.find(dtype);
  if (at == peaks.end()) at = peaks.find(DType::bf16);
  return at == peaks.end() ? 0 : at->second;
}

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

ChipTable ChipTable::with(const ChipTable& other) const {
  ChipTable out = *this;
  for (const Chip& chip : other.chips_) {
    const auto same = [&](const Chip& c) { return c.name == chip.name; };
    std::erase_if(out.chips_, same);
    out.chips_.push_back(chip);
  }
  return out;
}

const Chip* ChipTable::find_device(std::string_view device_kind) const {
  for (const Chip& chip : chips_) {
    if (!chip.device_kind.empty() && chip.device_kind == device_kind) return &chip;
  }
  return nullptr;
}

}  // namespace tenon
