#include "tenon/runtime/chips.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "tenon/base/file.h"
#include "tenon/base/text.h"
#include "tenon/config/toml.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/chips_toml.h"
#include "tenon/runtime/trn2_toml.h"
#include "tenon/runtime/value_reader.h"

namespace tenon {
namespace {

constexpr double kGib = 1073741824.0, kMost = 1e7;

// A number of `unit`, above 0.
double read_number(const Value& value, double unit) {
  const double number = read_as<double>(value, "a number with a point");
  if (!(number > 0 && number <= kMost)) {
    throw Error(ErrorCode::invalid_argument, "not an amount that a chip has").at(value.where).got(format_float(number));
  }
  return number * unit;
}

std::map<DType, double> read_peaks(const Value& value) {
  std::map<DType, double> out;
  for (const auto& [key, peak] : read_as<Value::Table>(value, "a table")) {
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

// A platform that isn't known has a plugin that isn't either: the file must say where it is, or that there is none.
void check_platform(const Chip& chip, const Value& row) {
  if (pjrt::is_known_platform(chip.platform)) return;
  if (row.find("plugin") != nullptr || row.find("aot") != nullptr) return;
  const std::vector<std::string>& known = pjrt::known_platforms();
  const std::string near = did_you_mean(chip.platform, known);
  throw Error(ErrorCode::unknown_name, "no such platform")
      .at(row.find("platform")->where)
      .got(quote_text(chip.platform))
      .expected(join(known, ", "))
      .hint(near + (near.empty() ? "" : " ") + "For another, name the file of its plugin: plugin = \"...\"");
}

int64_t read_devices(const Value& value, int64_t least) {
  const int64_t count = read_as<int64_t>(value, "a number of devices");
  if (count < least || count > int64_t{1} << 20) {
    throw Error(ErrorCode::invalid_argument, "not a number of devices").at(value.where).got(std::to_string(count));
  }
  return count;
}

using Reader = void (*)(Chip&, const Value&);
template <std::string Chip::* field>
void read_text(Chip& chip, const Value& value) {
  chip.*field = read_as<std::string>(value, "a text");
}

struct ChipField {
  std::string_view key;
  Reader read;
  bool required = true;
};
constexpr ChipField kFields[] = {
    {"platform", read_text<&Chip::platform>},
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
    {"slice_chips", [](Chip& c, const Value& v) { c.slice_chips = read_devices(v, 1); }, false},
    {"slice_source", read_text<&Chip::slice_source>, false},
};

// As targets and types of machines can hold it; "cpu" is a target already.
void check_name(const Value::Entry& row) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; };
  if (!row.key.empty() && row.key != "cpu" && std::all_of(row.key.begin(), row.key.end(), is_plain)) return;
  throw Error(ErrorCode::invalid_argument, "a chip can't be called so")
      .at(row.value.where)
      .got(quote_text(row.key))
      .expected("letters, digits, '_' and '.', and not cpu");
}

Chip read_chip(const Value::Entry& row) {
  check_name(row);
  Chip chip;
  chip.name = row.key;
  const auto& table = read_as<Value::Table>(row.value, "a table");
  for (const Value::Entry& entry : table) {
    std::vector<std::string> names = DeviceSetup::keys();
    const ChipField* found = nullptr;
    for (const ChipField& field : kFields) {
      names.emplace_back(field.key);
      if (field.key == entry.key) found = &field;
    }
    if (found != nullptr) {
      found->read(chip, entry.value);
    } else if (chip.setup.read(entry)) {
      chip.setup.where = row.value.where;
    } else {
      refuse_key(entry, "a chip", names);
    }
  }
  for (const ChipField& field : kFields) {
    if (!field.required || row.value.find(field.key) != nullptr) continue;
    throw Error(ErrorCode::missing_field, fmt::format("chip {} lacks {}", row.key, field.key)).at(row.value.where);
  }
  check_platform(chip, row.value);
  return chip;
}

}  // namespace

std::string Chip::instance(int64_t num_devices) const { return fmt::format("{}-{}-{}", platform, name, num_devices); }

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
    for (const Value::Entry& row : read_as<Value::Table>(*parsed, "a table")) table.chips_.push_back(read_chip(row));
  } catch (const Error& e) {
    return e;
  }
  return table;
}

const ChipTable& ChipTable::builtin() {
  static const auto* table =
      new ChipTable(parse(kChipsToml, "chips.toml").value().with(parse(kTrn2Toml, "trn2.toml").value()));
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
  for (const Chip& chip : other.chips_) out = out.with(chip);
  return out;
}

ChipTable ChipTable::with(const Chip& chip) const {
  ChipTable out = *this;
  std::erase_if(out.chips_, [&](const Chip& c) { return c.name == chip.name; });
  const auto after = [&](const Chip& c) { return c.name > chip.name; };
  out.chips_.insert(std::find_if(out.chips_.begin(), out.chips_.end(), after), chip);
  return out;
}

const Chip* ChipTable::find_device(std::string_view device_kind) const {
  for (const Chip& chip : chips_) {
    if (!chip.device_kind.empty() && chip.device_kind == device_kind) return &chip;
  }
  return nullptr;
}

Chip read_device(const std::string& path) {
  const ChipTable table = ChipTable::parse(read_file(path).value(), path).value();
  if (table.chips().size() == 1) return table.chips().front();
  throw Error(ErrorCode::invalid_argument, "not the file of one device")
      .at(path)
      .got(fmt::format("{} tables", table.chips().size()))
      .expected("one, under the device's name: [z1]");
}

}  // namespace tenon
