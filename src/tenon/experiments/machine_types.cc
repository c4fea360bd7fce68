#include "tenon/experiments/machine_types.h"

#include <fmt/format.h>

#include <map>

#include "tenon/base/text.h"
#include "tenon/config/define.h"
#include "tenon/config/text.h"
#include "tenon/config/toml.h"
#include "tenon/config/validate.h"
#include "tenon/experiments/machines_toml.h"

namespace tenon {
namespace {

struct MachineKind {
  Required<std::string> chip;
  std::vector<std::string> also;
  std::vector<int64_t> sizes;
  int64_t size_per_device = 1;
  std::vector<int64_t> slices_of, slices;
  bool is_choice = false;
  void check(Checker& c) const {
    c.positive("size_per_device", size_per_device);
    c.require(!sizes.empty() || !slices_of.empty(), "sizes", "must name a size, where slices_of names none");
    c.require(slices_of.empty() == slices.empty(), "slices", "go with slices_of");
    if (size_per_device < 1) return;
    for (const std::vector<int64_t>* list : {&sizes, &slices_of}) {
      for (const int64_t size : *list) {
        c.require(size >= size_per_device && size <= int64_t{1} << 24 && size % size_per_device == 0, "sizes",
                  "must be of whole devices, at least one");
      }
    }
    for (const int64_t count : slices) c.require(count >= 1 && count <= 1 << 16, "slices", "must be at least 1");
  }
  TENON_FIELDS(chip, also, sizes, size_per_device, slices_of, slices, is_choice)
};

class MachineTable final : public Configurable {
 public:
  struct Config : AnyConfig {
    std::map<std::string, MachineKind> machines;
    TENON_CONFIG(machines)
  };
  explicit MachineTable(const Config&) {}
};
TENON_MODULE(MachineTable, Configurable, "types of machines, by kind")

void add_kind(std::vector<MachineType>& out, const std::string& name, const MachineKind& kind) {
  const auto add = [&](const std::string& size, int64_t devices) {
    out.push_back({fmt::format("{}-{}", name, size), *kind.chip, devices, kind.is_choice});
  };
  for (const int64_t size : kind.sizes) add(std::to_string(size), size / kind.size_per_device);
  for (const int64_t size : kind.slices_of) {
    for (const int64_t count : kind.slices) {
      add(fmt::format("{}-{}", size, count), size / kind.size_per_device * count);
    }
  }
}

}  // namespace

Result<std::vector<MachineType>> parse_machine_types(std::string_view text, const std::string& filename) {
  Result<Value> parsed = parse_toml(text, filename);
  if (!parsed) return parsed.error();
  MachineTable::Config table;
  try {
    overlay(table, Value(Value::Table{{"machines", *parsed}}));
    require_set(table);
  } catch (const Error& e) {
    return e;
  }
  std::vector<MachineType> out;
  for (const auto& [name, kind] : table.machines) {
    add_kind(out, name, kind);
    for (const std::string& other : kind.also) add_kind(out, other, kind);
  }
  return out;
}

const std::vector<MachineType>& builtin_machine_types() {
  static const auto* machines =
      new std::vector<MachineType>(parse_machine_types(kMachinesToml, "machines.toml").value());
  return *machines;
}

void check_instance(const std::string& instance, const std::string& chip, int64_t devices) {
  std::vector<std::string> right;
  for (const MachineType& machine : builtin_machine_types()) {
    if (machine.chip == chip && machine.devices == devices && !machine.is_choice) right.push_back(machine.instance);
  }
  for (const MachineType& machine : builtin_machine_types()) {
    if (machine.instance != instance || machine.is_choice) continue;
    if (machine.chip == chip && machine.devices == devices) return;
    throw Error(ErrorCode::invalid_argument, "the instance is another machine than the target")
        .at("--instance")
        .got(fmt::format("{}: {} x {}", instance, machine.devices, machine.chip))
        .expected(fmt::format("one of {} x {}{}", devices, chip, right.empty() ? "" : ", as " + join(right, ", ")))
        .hint("leave it out, and `--set` what its mesh rule sets (`tenon rules list`), to try that here");
  }
}

}  // namespace tenon
