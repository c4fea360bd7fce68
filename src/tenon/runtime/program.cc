#include "tenon/runtime/program.h"

#include <fmt/format.h>

#include "tenon/base/text.h"
#include "tenon/pjrt/compiler_log.h"

namespace tenon {
namespace {

void check_count(std::string_view what, size_t got, size_t expected) {
  if (got == expected) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("a program's {} don't match its types", what))
      .got(std::to_string(got))
      .expected(std::to_string(expected));
}

void check_divides(const Mesh& mesh, const TensorType& type, const PartitionSpec& spec, std::string path) {
  try {
    (void)mesh.shard_dims(type.dims, spec);
  } catch (Error& e) {
    throw e.prefix(path);
  }
}

}  // namespace

std::string describe_argument(const Program& program, size_t index) {
  if (index >= program.arg_names.size() || program.arg_names[index].empty()) return fmt::format("argument {}", index);
  return fmt::format("argument {} ({})", index, program.arg_names[index]);
}

MemoryKind memory_of(const std::vector<MemoryKind>& memory, size_t index) {
  return index < memory.size() ? memory[index] : MemoryKind::device;
}

int64_t host_argument_bytes(const Program& program, const Mesh& mesh) {
  int64_t bytes = 0;
  for (size_t i = 0; i < program.arg_memory.size(); ++i) {
    if (program.arg_memory[i] == MemoryKind::device) continue;
    const TensorType& whole = program.arg_types[i];
    bytes += byte_size(TensorType{whole.dtype, mesh.shard_dims(whole.dims, program.arg_specs[i])});
  }
  return bytes;
}

Error at_ops(Error error, const Program& program) {
  constexpr size_t kMost = 3;
  std::vector<std::string> ops = pjrt::ops_named(error.message(), program.text);
  if (ops.size() > kMost) ops.resize(kMost);
  if (!ops.empty()) error.at(join(ops, ", "));
  return error;
}

void validate(const Program& program, const Mesh& mesh) {
  if (program.num_devices != mesh.num_devices()) {
    throw Error(ErrorCode::mesh_mismatch, "the program is for another number of devices than the mesh has")
        .got(std::to_string(program.num_devices))
        .expected(fmt::format("{} (mesh {})", mesh.num_devices(), to_string(mesh)));
  }
  check_count("argument specs", program.arg_specs.size(), program.arg_types.size());
  check_count("result specs", program.result_specs.size(), program.result_types.size());
  if (!program.arg_memory.empty())
    check_count("argument memories", program.arg_memory.size(), program.arg_types.size());
  if (!program.result_memory.empty()) {
    check_count("result memories", program.result_memory.size(), program.result_types.size());
  }
  if (!program.arg_names.empty()) check_count("argument names", program.arg_names.size(), program.arg_types.size());
  for (const int index : program.donated) {
    if (index < 0 || static_cast<size_t>(index) >= program.arg_types.size()) {
      throw Error(ErrorCode::invalid_argument, fmt::format("donated argument {} isn't there", index))
          .expected(fmt::format("less than {}", program.arg_types.size()));
    }
  }
  for (size_t i = 0; i < program.arg_types.size(); ++i) {
    check_divides(mesh, program.arg_types[i], program.arg_specs[i], describe_argument(program, i));
  }
  for (size_t i = 0; i < program.result_types.size(); ++i) {
    check_divides(mesh, program.result_types[i], program.result_specs[i], fmt::format("result {}", i));
  }
}

bool uses_host_memory(const Program& program) {
  return program.text.find("_xla_buffer_placement = \"pinned_host\"") != std::string::npos;
}

pjrt::CompileOptions make_compile_options(const Program& program,
                                          const std::map<std::string, std::string>& default_flags, const Mesh& mesh,
                                          const std::vector<int64_t>& device_ids) {
  pjrt::CompileOptions result{program.num_devices, {}, program.compile_options};
  for (int64_t d = 0; d < mesh.num_devices(); ++d) {
    result.device_ids.push_back(device_ids.at(static_cast<size_t>(mesh.physical_device(d))));
  }
  result.flags.insert(default_flags.begin(), default_flags.end());
  return result;
}

}  // namespace tenon
