#include "tenon/runtime/device_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tenon/base/file.h"
#include "tenon/base/text.h"
#include "tenon/runtime/value_reader.h"

namespace tenon {
namespace {

const std::string& read_text(const Value& value) { return read_as<std::string>(value, "a text"); }

// A file's name, from the folder of the file that names it; whole, since the loader looks elsewhere for bare names.
std::string read_path(const Value& value) {
  const std::filesystem::path path(read_text(value));
  if (path.empty()) throw Error(ErrorCode::invalid_argument, "the path is empty").at(value.where);
  const std::filesystem::path file = value.where.substr(0, value.where.rfind(':'));
  return std::filesystem::absolute(file.parent_path() / path).lexically_normal().string();
}

pjrt::OptionValue read_option(const Value& value) {
  if (const auto* text = value.as<std::string>()) return *text;
  if (const auto* number = value.as<int64_t>()) return *number;
  if (const auto* number = value.as<double>()) return static_cast<float>(*number);
  if (const auto* flag = value.as<bool>()) return *flag;
  std::vector<int64_t> numbers;
  for (const Value& item : read_as<Value::List>(value, "a text, a number, true, false or a list of whole numbers")) {
    numbers.push_back(read_as<int64_t>(item, "a whole number"));
  }
  return numbers;
}

pjrt::Options read_options(const Value& value) {
  pjrt::Options out;
  for (const auto& [key, option] : read_as<Value::Table>(value, "a table")) out.emplace(key, read_option(option));
  return out;
}

// As flags are given to compilers: text.
std::map<std::string, std::string> read_flags(const Value& value) {
  std::map<std::string, std::string> out;
  for (const auto& [key, flag] : read_as<Value::Table>(value, "a table")) {
    const bool scalar = flag.as<Value::List>() == nullptr && flag.as<Value::Table>() == nullptr;
    if (!scalar) throw Error(ErrorCode::wrong_type, "not one value").at(flag.where).got(flag.describe());
    const auto* text = flag.as<std::string>();
    out.emplace(key, text != nullptr ? *text : flag.text());
  }
  return out;
}

std::map<std::string, std::string> read_environment(const Value& value) {
  std::map<std::string, std::string> out;
  for (const auto& [key, variable] : read_as<Value::Table>(value, "a table")) {
    if (key.empty() || key.find('=') != std::string::npos) {
      throw Error(ErrorCode::invalid_argument, "not the name of an environment variable")
          .at(variable.where)
          .got(quote_text(key));
    }
    out.emplace(key, read_text(variable));
  }
  return out;
}

std::vector<std::string> read_kernels(const Value& value) {
  std::vector<std::string> names;
  for (const Value& name : read_as<Value::List>(value, "a list of texts")) {
    names.push_back(read_text(name));
    try {
      kernels_named({names.back()});
    } catch (Error& e) {
      throw e.at(name.where);
    }
  }
  return names;
}

AotWay read_aot(const Value& value) {
  const std::string& text = read_text(value);
  if (text == "none") return AotWay::none;
  if (text == "devices") return AotWay::devices;
  throw Error(ErrorCode::unknown_name, "no way to compile ahead of time is called so")
      .at(value.where)
      .got(quote_text(text))
      .expected("none, devices, or a table `topology`");
}

// Keys are unique: what is set already was set by the other.
void require_one_way(const DeviceSetup& setup, const Value& value) {
  if (!setup.aot) return;
  throw Error(ErrorCode::invalid_argument, "a table `topology` stands in the place of `aot`").at(value.where);
}

void read_topology(DeviceSetup& setup, const Value& value) {
  require_one_way(setup, value);
  setup.aot = AotWay::topology;
  for (const Value::Entry& entry : read_as<Value::Table>(value, "a table")) {
    if (entry.key == "name") {
      setup.topology = read_text(entry.value);
    } else if (entry.key == "options") {
      setup.topology_options = read_options(entry.value);
    } else {
      refuse_key(entry, "a topology", {"name", "options"});
    }
  }
}

using Reader = void (*)(DeviceSetup&, const Value&);
struct SetupField {
  std::string_view key;
  Reader read;
};
constexpr SetupField kFields[] = {
    {"plugin", [](DeviceSetup& s, const Value& v) { s.plugin = read_path(v); }},
    {"environment", [](DeviceSetup& s, const Value& v) { s.environment = read_environment(v); }},
    {"client_options", [](DeviceSetup& s, const Value& v) { s.client_options = read_options(v); }},
    {"compile_options", [](DeviceSetup& s, const Value& v) { s.compile_options = read_flags(v); }},
    {"kernels", [](DeviceSetup& s, const Value& v) { s.kernels = read_kernels(v); }},
    {"aot",
     [](DeviceSetup& s, const Value& v) {
       require_one_way(s, v);
       s.aot = read_aot(v);
     }},
    {"topology", read_topology},
    {"mesh_rules",
     [](DeviceSetup& s, const Value& v) {
       read_as<Value::List>(v, "a list of tables");
       s.mesh_rules = v;
     }},
};

}  // namespace

void refuse_key(const Value::Entry& entry, std::string_view owner, const std::vector<std::string>& keys) {
  throw Error(ErrorCode::unknown_name, fmt::format("{} has no {}", owner, quote_text(entry.key)))
      .at(entry.value.where)
      .expected(join(keys, ", "))
      .hint(did_you_mean(entry.key, keys));
}

bool DeviceSetup::read(const Value::Entry& entry) {
  for (const SetupField& field : kFields) {
    if (field.key != entry.key) continue;
    field.read(*this, entry.value);
    return true;
  }
  return false;
}

std::vector<std::string> DeviceSetup::keys() {
  std::vector<std::string> out;
  for (const SetupField& field : kFields) out.emplace_back(field.key);
  return out;
}

AotWay aot_way(std::string_view platform, const DeviceSetup& setup) {
  if (setup.aot) return *setup.aot;
  if (platform == "cpu") return AotWay::devices;
  return pjrt::is_known_platform(platform) ? AotWay::topology : AotWay::none;
}

KernelList kernels_of(std::string_view platform, const DeviceSetup& setup, int compute_capability) {
  return setup.kernels ? kernels_named(*setup.kernels, compute_capability) : kernels_for(platform, compute_capability);
}

std::shared_ptr<const pjrt::Plugin> load_plugin(const std::string& platform, const DeviceSetup& setup) {
  for (const auto& [name, value] : setup.environment) setenv(name.c_str(), value.c_str(), 0);
  if (setup.plugin.empty()) return pjrt::Plugin::load(pjrt::find_any_plugin(platform).value(), platform).value();
  if (!exists(setup.plugin)) {
    throw Error(ErrorCode::plugin, "the plugin isn't there")
        .at(setup.plugin)
        .hint(setup.where.empty() ? "" : setup.where + " names it");
  }
  return pjrt::Plugin::load(setup.plugin, platform).value();
}

}  // namespace tenon
