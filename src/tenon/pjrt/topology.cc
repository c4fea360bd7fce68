#include "tenon/pjrt/topology.h"

#include <fmt/format.h>

#include <utility>

#include "tenon/pjrt/c_api.h"
#include "tenon/pjrt/options.h"

namespace tenon::pjrt {

Result<Topology> Topology::create(std::shared_ptr<const Plugin> plugin, const std::string& name,
                                  const Options& options) {
  const PJRT_Api* api = plugin->api();
  const std::vector<PJRT_NamedValue> values = to_named_values(options);
  TENON_PJRT_ARGS(TopologyDescription_Create, args);
  args.topology_name = name.data();
  args.topology_name_size = name.size();
  args.create_options = values.data();
  args.num_options = values.size();
  const Status status =
      to_status(api, api->PJRT_TopologyDescription_Create(&args), fmt::format("describe the machine \"{}\"", name));
  if (!status) return Error(status.error()).at(plugin->path());
  Topology result(std::move(plugin), args.topology);
  if (Status s = result.read_devices(); !s) return s.error();
  return result;
}

Topology::Topology(Topology&& other) noexcept
    : plugin_(std::move(other.plugin_)),
      topology_(std::exchange(other.topology_, nullptr)),
      device_ids_(std::move(other.device_ids_)),
      device_kind_(std::move(other.device_kind_)),
      compute_capability_(other.compute_capability_) {}

Topology& Topology::operator=(Topology&& other) noexcept {
  std::swap(plugin_, other.plugin_);
  std::swap(topology_, other.topology_);
  std::swap(device_ids_, other.device_ids_);
  std::swap(device_kind_, other.device_kind_);
  std::swap(compute_capability_, other.compute_capability_);
  return *this;
}

Topology::~Topology() {
  if (topology_ == nullptr) return;
  const PJRT_Api* api = plugin_->api();
  TENON_PJRT_ARGS(TopologyDescription_Destroy, args);
  args.topology = topology_;
  ignore(api, api->PJRT_TopologyDescription_Destroy(&args));
}

Status Topology::read_devices() {
  const PJRT_Api* api = plugin_->api();
  TENON_PJRT_ARGS(TopologyDescription_GetDeviceDescriptions, list);
  list.topology = topology_;
  Status status = to_status(api, api->PJRT_TopologyDescription_GetDeviceDescriptions(&list), "list devices");
  if (!status) return status;
  for (size_t i = 0; i < list.num_descriptions; ++i) {
    TENON_PJRT_ARGS(DeviceDescription_Id, id);
    id.device_description = list.descriptions[i];
    if (Status s = to_status(api, api->PJRT_DeviceDescription_Id(&id), "give a device's id"); !s) return s;
    device_ids_.push_back(id.id);
  }
  if (device_ids_.empty()) return Error(ErrorCode::plugin, "the plugin describes a machine without devices");
  TENON_PJRT_ARGS(DeviceDescription_Kind, kind);
  kind.device_description = list.descriptions[0];
  if (Status s = to_status(api, api->PJRT_DeviceDescription_Kind(&kind), "give a device's kind"); !s) return s;
  device_kind_.assign(kind.device_kind, kind.device_kind_size);
  compute_capability_ = pjrt::compute_capability(api, list.descriptions[0]);
  return {};
}

Result<CompiledProgram> Topology::compile(std::string_view program, CompileOptions options) const {
  if (options.num_partitions > static_cast<int64_t>(device_ids_.size())) {
    return Error(ErrorCode::mesh_mismatch, "the mesh has more devices than the machine")
        .got(std::to_string(options.num_partitions))
        .expected(fmt::format("at most {}", device_ids_.size()));
  }
  if (options.device_ids.empty()) {
    options.device_ids.assign(device_ids_.begin(), device_ids_.begin() + options.num_partitions);
  }
  const PJRT_Api* api = plugin_->api();
  const std::string wire = serialize(options);
  const PJRT_Program text = make_program(program);
  TENON_PJRT_ARGS(Compile, args);
  args.topology = topology_;
  args.program = &text;
  args.compile_options = wire.data();
  args.compile_options_size = wire.size();
  LogCapture log;
  Status status = compiler_status(api, [&] { return api->PJRT_Compile(&args); }, "compile the program");
  std::vector<CompilerWarning> warnings = log.finish();
  if (!status) return status.error();
  CompiledProgram result(plugin_, args.executable);
  result.set_warnings(std::move(warnings));
  return result;
}

}  // namespace tenon::pjrt
