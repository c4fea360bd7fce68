#include "tenon/stablehlo/emit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tenon/ir/hlo_writer.h"

namespace tenon {
namespace {

// Mesh axes of more than one device; an axis of one means nothing to the partitioner.
std::string mesh_line(const Mesh& mesh) {
  std::vector<std::string> axes;
  for (std::string_view axis : kMeshAxes) {
    if (mesh.size(axis) > 1) axes.push_back(fmt::format("\"{}\"={}", axis, mesh.size(axis)));
  }
  return fmt::format("  sdy.mesh @mesh = <[{}]>\n", fmt::join(axes, ", "));
}

std::string attributes(const std::vector<std::string>& items) {
  return items.empty() ? "" : fmt::format(" {{{}}}", fmt::join(items, ", "));
}

class Emitter {
 public:
  Emitter(const Graph& graph, const EmitOptions& options)
      : graph_(graph),
        options_(options),
        root_(graph.trace->region(graph.root)),
        sharded_(options.mesh.num_devices() > 1),
        writer_(*graph.trace, sharded_ ? &options.mesh : nullptr, options.locations) {}

  std::string run() {
    std::string out = "module @tenon {\n";
    if (sharded_) out += mesh_line(options_.mesh);
    out += fmt::format("  func.func public @main({}) -> ({}) {{\n", params(), results());
    writer_.indent(1);
    writer_.body(graph_.root);
    writer_.line(root_.results.empty()
                     ? "return"
                     : fmt::format("return {} : {}", writer_.names(root_.results), writer_.types(root_.results)));
    return out + writer_.take() + "  }\n}\n";
  }

 private:
  void add_sharding(std::vector<std::string>& attrs, const std::vector<PartitionSpec>& specs, size_t i, ValueId v,
                    std::string_view what) {
    if (!sharded_) return;
    const PartitionSpec spec = i < specs.size() ? specs[i] : PartitionSpec();
    try {
      options_.mesh.shard_dims(writer_.type(v).dims, spec);  // throws when it doesn't divide
    } catch (Error& e) {
      e.at(fmt::format("{} {}", what, i));
      throw;
    }
    attrs.push_back(
        fmt::format("sdy.sharding = #sdy.sharding<@mesh, {}>", hlo_spec(spec, writer_.type(v).rank(), options_.mesh)));
  }

  static void add_memory(std::vector<std::string>& attrs, const std::vector<MemoryKind>& memory, size_t i) {
    if (i >= memory.size() || memory[i] == MemoryKind::device) return;
    attrs.push_back(fmt::format("mhlo.memory_kind = \"{}\"", to_string(memory[i])));
  }

  std::string params() {
    std::vector<std::string> out;
    for (size_t i = 0; i < root_.params.size(); ++i) {
      const ValueId v = root_.params[i];
      writer_.bind(v, fmt::format("%arg{}", i));
      std::vector<std::string> attrs;
      add_sharding(attrs, options_.param_specs, i, v, "argument");
      add_memory(attrs, options_.param_memory, i);
      if (i < options_.aliases.size() && options_.aliases[i]) {
        attrs.push_back(fmt::format("tf.aliasing_output = {} : i32", *options_.aliases[i]));
      }
      out.push_back(fmt::format("%arg{}: {}{}", i, writer_.type_text(v), attributes(attrs)));
    }
    return fmt::format("{}", fmt::join(out, ", "));
  }

  std::string results() {
    std::vector<std::string> out;
    for (size_t i = 0; i < root_.results.size(); ++i) {
      std::vector<std::string> attrs;
      add_sharding(attrs, options_.result_specs, i, root_.results[i], "result");
      add_memory(attrs, options_.result_memory, i);
      out.push_back(writer_.type_text(root_.results[i]) + attributes(attrs));
    }
    return fmt::format("{}", fmt::join(out, ", "));
  }

  const Graph& graph_;
  const EmitOptions& options_;
  const RegionInfo& root_;
  bool sharded_;
  HloWriter writer_;
};

}  // namespace

std::string emit_stablehlo(const Graph& graph, const EmitOptions& options) { return Emitter(graph, options).run(); }

}  // namespace tenon
