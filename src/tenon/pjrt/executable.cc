#include "tenon/pjrt/executable.h"

#include <fmt/format.h>

#include <utility>

#include "tenon/pjrt/c_api.h"
#include "tenon/pjrt/client.h"

namespace tenon::pjrt {

CompiledProgram::CompiledProgram(std::shared_ptr<const Plugin> plugin, PJRT_Executable* executable)
    : plugin_(std::move(plugin)), executable_(executable) {}

CompiledProgram::CompiledProgram(CompiledProgram&& other) noexcept
    : plugin_(std::move(other.plugin_)),
      executable_(std::exchange(other.executable_, nullptr)),
      warnings_(std::move(other.warnings_)) {}

CompiledProgram& CompiledProgram::operator=(CompiledProgram&& other) noexcept {
  std::swap(plugin_, other.plugin_);
  std::swap(executable_, other.executable_);
  std::swap(warnings_, other.warnings_);
  return *this;
}

CompiledProgram::~CompiledProgram() {
  if (executable_ == nullptr) return;
  const PJRT_Api* api = plugin_->api();
  TENON_PJRT_ARGS(Executable_Destroy, args);
  args.executable = executable_;
  ignore(api, api->PJRT_Executable_Destroy(&args));
}

Result<MemoryStats> CompiledProgram::memory_stats() const {
  const PJRT_Api* api = plugin_->api();
  TENON_PJRT_ARGS(Executable_GetCompiledMemoryStats, args);
  args.executable = executable_;
  Status status = to_status(api, api->PJRT_Executable_GetCompiledMemoryStats(&args), "count a program's memory");
  if (!status) return status.error();
  MemoryStats result;
  result.argument = args.argument_size_in_bytes;
  result.output = args.output_size_in_bytes;
  result.alias = args.alias_size_in_bytes;
  result.temporary = args.temp_size_in_bytes;
  result.generated_code = args.generated_code_size_in_bytes;
  result.peak = args.peak_memory_in_bytes;
  result.host_argument = args.host_argument_size_in_bytes;
  result.host_output = args.host_output_size_in_bytes;
  result.host_temporary = args.host_temp_size_in_bytes;
  return result;
}

Result<std::vector<TensorType>> CompiledProgram::output_types() const {
  const PJRT_Api* api = plugin_->api();
  TENON_PJRT_ARGS(Executable_OutputElementTypes, types);
  types.executable = executable_;
  Status status = to_status(api, api->PJRT_Executable_OutputElementTypes(&types), "give the types of outputs");
  if (!status) return status.error();
  TENON_PJRT_ARGS(Executable_OutputDimensions, shapes);
  shapes.executable = executable_;
  status = to_status(api, api->PJRT_Executable_OutputDimensions(&shapes), "give the shapes of outputs");
  if (!status) return status.error();
  if (types.num_output_types != shapes.num_outputs) {
    return Error(ErrorCode::plugin, "the plugin counts the outputs of a program in two ways")
        .got(fmt::format("{} types and {} shapes", types.num_output_types, shapes.num_outputs));
  }
  std::vector<TensorType> result;
  const int64_t* next = shapes.dims;
  for (size_t i = 0; i < shapes.num_outputs; ++i) {
    Result<DType> dtype = from_pjrt(number_of(types.output_types[i]));
    if (!dtype) return dtype.error();
    result.push_back({*dtype, Dims(next, next + shapes.dim_sizes[i])});
    next += shapes.dim_sizes[i];
  }
  return result;
}

Result<int64_t> CompiledProgram::num_outputs() const {
  const PJRT_Api* api = plugin_->api();
  TENON_PJRT_ARGS(Executable_NumOutputs, args);
  args.executable = executable_;
  if (Status s = to_status(api, api->PJRT_Executable_NumOutputs(&args), "count outputs"); !s) return s.error();
  return static_cast<int64_t>(args.num_outputs);
}

Result<std::map<std::string, double>> CompiledProgram::cost_analysis() const {
  const PJRT_Api* api = plugin_->api();
  TENON_PJRT_ARGS(Executable_GetCostAnalysis, args);
  args.executable = executable_;
  Status status =
      to_status(api, api->PJRT_Executable_GetCostAnalysis(&args), "estimate a program's cost", ErrorCode::unsupported);
  if (!status) return status.error();
  std::map<std::string, double> result;
  for (size_t i = 0; i < args.num_properties; ++i) {
    const PJRT_NamedValue& p = args.properties[i];
    const std::string name(p.name, p.name_size);
    if (p.type == PJRT_NamedValue_kFloat) result.emplace(name, p.float_value);
    if (p.type == PJRT_NamedValue_kInt64) result.emplace(name, static_cast<double>(p.int64_value));
  }
  return result;
}

Result<HloModule> CompiledProgram::optimized_program() const {
  const PJRT_Api* api = plugin_->api();
  constexpr std::string_view kDoing = "show the optimized program";
  PJRT_Program program{};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  TENON_PJRT_ARGS(Executable_OptimizedProgram, args);
  args.executable = executable_;
  args.program = &program;
  Status status = to_status(api, api->PJRT_Executable_OptimizedProgram(&args), kDoing, ErrorCode::unsupported);
  if (!status) return status.error();
  const std::string format(program.format, program.format_size);
  if (format != "hlo_with_config") {
    return Error(ErrorCode::unsupported, "the plugin shows the optimized program in a form that can't be read here")
        .got(format)
        .expected("hlo_with_config");
  }
  std::string bytes(program.code_size, '\0');
  program.code = bytes.data();
  status = to_status(api, api->PJRT_Executable_OptimizedProgram(&args), kDoing, ErrorCode::unsupported);
  if (!status) return status.error();
  return parse_hlo_module(bytes);
}

Result<std::string> CompiledProgram::serialize() const {
  const PJRT_Api* api = plugin_->api();
  TENON_PJRT_ARGS(Executable_Serialize, args);
  args.executable = executable_;
  Status status = to_status(api, api->PJRT_Executable_Serialize(&args), "serialize a compiled program");
  if (!status) return status.error();
  std::string result(args.serialized_bytes, args.serialized_bytes_size);
  args.serialized_executable_deleter(args.serialized_executable);
  return result;
}

Executable::Executable(std::shared_ptr<const Client> client, PJRT_LoadedExecutable* loaded, CompiledProgram program)
    : client_(std::move(client)), loaded_(loaded), program_(std::move(program)) {}

Executable::Executable(Executable&& other) noexcept
    : client_(std::move(other.client_)),
      loaded_(std::exchange(other.loaded_, nullptr)),
      program_(std::move(other.program_)),
      num_outputs_(other.num_outputs_),
      num_devices_(other.num_devices_) {}

Executable& Executable::operator=(Executable&& other) noexcept {
  std::swap(client_, other.client_);
  std::swap(loaded_, other.loaded_);
  std::swap(program_, other.program_);
  num_outputs_ = other.num_outputs_;
  num_devices_ = other.num_devices_;
  return *this;
}

Executable::~Executable() {
  if (loaded_ == nullptr) return;
  const PJRT_Api* api = client_->plugin()->api();
  TENON_PJRT_ARGS(LoadedExecutable_Destroy, args);
  args.executable = loaded_;
  ignore(api, api->PJRT_LoadedExecutable_Destroy(&args));
}

Status Executable::read_sizes() {
  const PJRT_Api* api = client_->plugin()->api();
  Result<int64_t> outputs = program_.num_outputs();
  if (!outputs) return outputs.error();
  TENON_PJRT_ARGS(LoadedExecutable_AddressableDevices, devices);
  devices.executable = loaded_;
  Status status = to_status(api, api->PJRT_LoadedExecutable_AddressableDevices(&devices), "list a program's devices");
  if (!status) return status;
  num_outputs_ = *outputs;
  num_devices_ = static_cast<int64_t>(devices.num_addressable_devices);
  return {};
}

Result<std::vector<std::vector<Buffer>>> Executable::execute(
    std::span<const std::vector<const Buffer*>> arguments) const {
  const size_t num_devices = arguments.size();
  check(static_cast<int64_t>(num_devices) == num_devices_, "one list of arguments for each device");
  std::vector<std::vector<PJRT_Buffer*>> inputs(num_devices), outputs(num_devices);
  std::vector<PJRT_Buffer* const*> input_lists(num_devices);
  std::vector<PJRT_Buffer**> output_lists(num_devices);
  for (size_t d = 0; d < num_devices; ++d) {
    check(arguments[d].size() == arguments[0].size(), "the same number of arguments on each device");
    for (const Buffer* b : arguments[d]) inputs[d].push_back(b->raw());
    outputs[d].assign(static_cast<size_t>(num_outputs_), nullptr);
    input_lists[d] = inputs[d].data();
    output_lists[d] = outputs[d].data();
  }
  PJRT_ExecuteOptions options{};
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  TENON_PJRT_ARGS(LoadedExecutable_Execute, args);
  args.executable = loaded_;
  args.options = &options;
  args.argument_lists = input_lists.data();
  args.num_devices = num_devices;
  args.num_args = num_devices == 0 ? 0 : inputs[0].size();
  args.output_lists = output_lists.data();
  const PJRT_Api* api = client_->plugin()->api();
  Status status = to_status(api, api->PJRT_LoadedExecutable_Execute(&args), "run the program");
  if (!status) return status.error();
  std::vector<std::vector<Buffer>> result(num_devices);
  for (size_t d = 0; d < num_devices; ++d) {
    for (PJRT_Buffer* b : outputs[d]) result[d].emplace_back(client_, b);
  }
  return result;
}

}  // namespace tenon::pjrt
