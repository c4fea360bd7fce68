#include "tenon/runtime/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "tenon/base/clock.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

// That the devices have every memory the program uses.
void check_memories(const Backend& backend, const Program& program) {
  for (size_t i = 0; i < program.arg_memory.size(); ++i) {
    const std::string wanted(to_string(program.arg_memory[i]));
    if (program.arg_memory[i] == MemoryKind::device) continue;
    const std::vector<std::string> kinds = backend.client().memory_kinds(backend.client().devices().front()).value();
    if (std::find(kinds.begin(), kinds.end(), wanted) != kinds.end()) return;
    throw Error(ErrorCode::unsupported, "the platform has no memory of the kind an argument is to lie in")
        .at(describe_argument(program, i))
        .got(fmt::format("{}, which has {}", backend.platform(), join(kinds, ", ")))
        .expected(wanted)
        .hint("leave it in device memory");
  }
}

// The entry, loaded; nothing when there is none that works.
std::optional<pjrt::Executable> load_cached(const Backend& backend, const pjrt::CompileOptions& options,
                                            const CompileCache& cache, const std::string& key) {
  const std::optional<std::string> bytes = cache.load(key);
  if (!bytes) return std::nullopt;
  Result<pjrt::Executable> loaded = backend.client().deserialize(*bytes, options);
  if (loaded) return std::move(loaded).value();
  cache.remove(key);
  return std::nullopt;
}

void store_cached(const CompileCache& cache, const std::string& key, const pjrt::Executable& executable) {
  // What can't be kept is compiled again next time.
  if (const Result<std::string> bytes = executable.program().serialize()) (void)cache.store(key, *bytes).ok();
}

}  // namespace

Executable::Executable(std::shared_ptr<const Backend> backend, const Mesh& mesh, Program program,
                       pjrt::Executable executable)
    : backend_(std::move(backend)), mesh_(mesh), program_(std::move(program)), executable_(std::move(executable)) {
  for (size_t i = 0; i < program_.arg_types.size(); ++i) {
    arg_specs_.push_back(mesh_.normalize(program_.arg_specs[i], program_.arg_types[i].rank()));
  }
  if (Result<pjrt::MemoryStats> stats = executable_.program().memory_stats()) memory_ = *stats;
}

void Executable::check_outputs() const {
  const std::vector<TensorType> got = executable_.program().output_types().value();
  if (got.size() != program_.result_types.size()) {
    throw Error(ErrorCode::invalid_argument, "the program's text has another number of results than declared")
        .got(std::to_string(got.size()))
        .expected(std::to_string(program_.result_types.size()));
  }
  for (size_t i = 0; i < got.size(); ++i) {
    const TensorType& whole = program_.result_types[i];
    const TensorType expected{whole.dtype, mesh_.shard_dims(whole.dims, program_.result_specs[i])};
    if (got[i] == expected) continue;
    throw Error(ErrorCode::shape_mismatch, fmt::format("result {} of the compiled program isn't what was declared", i))
        .got(fmt::format("{} on each device", to_string(got[i])))
        .expected(fmt::format("{}, a shard of {} over \"{}\"", to_string(expected), to_string(whole),
                              to_string(program_.result_specs[i])));
  }
}

void Executable::check_arguments(std::span<const Array> args) const {
  if (args.size() != program_.arg_types.size()) {
    throw Error(ErrorCode::invalid_argument, "a program was called with the wrong number of arguments")
        .got(std::to_string(args.size()))
        .expected(std::to_string(program_.arg_types.size()));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    try {
      (void)args[i].buffers();
    } catch (Error& e) {
      throw e.prefix(describe_argument(program_, i));
    }
    if (args[i].type() != program_.arg_types[i]) {
      throw Error(ErrorCode::shape_mismatch, "an argument has another type than the program's")
          .at(describe_argument(program_, i))
          .got(to_string(args[i].type()))
          .expected(to_string(program_.arg_types[i]));
    }
    if (const MemoryKind wanted = memory_of(program_.arg_memory, i); args[i].memory() != wanted) {
      throw Error(ErrorCode::invalid_argument, "an argument lies in another memory than the program takes it from")
          .at(describe_argument(program_, i))
          .got(std::string(to_string(args[i].memory())))
          .expected(std::string(to_string(wanted)));
    }
    if (args[i].backend() != backend_ || args[i].mesh() != mesh_ || args[i].spec() != arg_specs_[i]) {
      const bool elsewhere = args[i].backend() != backend_;
      throw Error(ErrorCode::mesh_mismatch, "an argument lies on the devices in another way than the program takes it")
          .at(describe_argument(program_, i))
          .got(elsewhere ? "another backend"
                         : fmt::format("\"{}\" on mesh {}", to_string(args[i].spec()), to_string(args[i].mesh())))
          .expected(fmt::format("\"{}\" on mesh {}", to_string(arg_specs_[i]), to_string(mesh_)));
    }
  }
  check_donated_once(args);
}

void Executable::check_donated_once(std::span<const Array> args) const {
  std::unordered_map<const void*, size_t> donated;
  for (const int d : program_.donated) {
    const auto index = static_cast<size_t>(d);
    donated.emplace(&args[index].buffers(), index);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const auto it = donated.find(&args[i].buffers());
    if (it == donated.end() || it->second == i) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the same array is {} too, but a donated one can be given only once",
                            describe_argument(program_, i)))
        .at(describe_argument(program_, it->second));
  }
}

std::vector<Array> Executable::operator()(std::span<const Array> args) const {
  check_arguments(args);
  const auto num_devices = static_cast<size_t>(mesh_.num_devices());
  std::vector<std::vector<const pjrt::Buffer*>> inputs(num_devices);
  for (size_t d = 0; d < num_devices; ++d) {
    for (const Array& arg : args) inputs[d].push_back(&arg.buffers()[d]);
  }
  std::vector<std::vector<pjrt::Buffer>> outputs = executable_.execute(inputs).value();
  for (const int d : program_.donated) args[static_cast<size_t>(d)].mark_donated();
  std::vector<Array> results;
  for (size_t i = 0; i < program_.result_types.size(); ++i) {
    std::vector<pjrt::Buffer> buffers(num_devices);
    for (size_t d = 0; d < num_devices; ++d) buffers[d] = std::move(outputs[d][i]);
    results.push_back(Array::from_buffers(backend_, mesh_, program_.result_specs[i], program_.result_types[i],
                                          std::move(buffers), memory_of(program_.result_memory, i)));
  }
  return results;
}

Executable compile(std::shared_ptr<const Backend> backend, const Mesh& mesh, Program program,
                   const CompileCache* cache) {
  validate(program, mesh);
  backend->check_devices(mesh);
  check_memories(*backend, program);
  check_largest(program.largest, backend->platform());
  const pjrt::CompileOptions options =
      make_compile_options(program, backend->default_flags(), mesh, backend->device_ids());
  const double start = steady_seconds();
  std::string key;
  if (cache != nullptr) key = compile_cache_key(*backend, program.text, options).value();
  std::optional<pjrt::Executable> loaded;
  if (cache != nullptr) loaded = load_cached(*backend, options, *cache, key);
  const bool hit = loaded.has_value();
  if (!hit) {
    Result<pjrt::Executable> compiled = backend->client().compile(program.text, options);
    if (!compiled) throw at_ops(compiled.error(), program);
    loaded.emplace(std::move(compiled).value());
    // What was warned of must be warned of again.
    if (cache != nullptr && loaded->program().warnings().empty()) store_cached(*cache, key, *loaded);
  }
  Executable result(std::move(backend), mesh, std::move(program), std::move(*loaded));
  result.compile_seconds_ = steady_seconds() - start;
  result.cache_hit_ = hit;
  result.check_outputs();
  return result;
}

}  // namespace tenon
