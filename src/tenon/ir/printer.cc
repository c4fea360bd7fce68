#include "tenon/ir/printer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tenon/ir/op_def.h"

namespace tenon {
namespace {

class Printer {
 public:
  explicit Printer(const Trace& trace) : trace_(trace) {}

  std::string print(RegionId root) {
    out_ = fmt::format("graph({}) {{\n", typed(trace_.region(root).params));
    region(root, 1);
    return out_ + "}\n";
  }

 private:
  std::string name(ValueId v) {
    const auto [it, added] = names_.try_emplace(v, names_.size());
    return fmt::format("%{}", it->second);
  }
  std::string list(const std::vector<ValueId>& values) {
    std::vector<std::string> out;
    for (ValueId v : values) out.push_back(name(v));
    return fmt::format("{}", fmt::join(out, ", "));
  }
  std::string typed(const std::vector<ValueId>& values) {
    std::vector<std::string> out;
    for (ValueId v : values) out.push_back(fmt::format("{}: {}", name(v), to_string(trace_.value(v).type)));
    return fmt::format("{}", fmt::join(out, ", "));
  }

  void region(RegionId id, size_t depth) {
    const RegionInfo& info = trace_.region(id);
    const std::string indent(depth * 2, ' ');
    for (OpId op_id : info.ops) {
      const OpInfo& op = trace_.op(op_id);
      const std::string args = list(op.operands);
      const std::string attrs = op.attrs.items().empty() ? "" : fmt::format(" {{{}}}", to_string(op.attrs));
      const std::string_view path = trace_.path_of(op);
      out_ += fmt::format("{}{} = {}({}){}{}\n", indent, typed(op.results), op.def->name, args, attrs,
                          path.empty() ? "" : fmt::format("  // {}", path));
      for (RegionId inner : op.regions) {
        out_ += fmt::format("{}  ({}) {{\n", indent, typed(trace_.region(inner).params));
        region(inner, depth + 2);
        out_ += indent + "  }\n";
      }
    }
    out_ += fmt::format("{}return {}\n", indent, list(info.results));
  }

  const Trace& trace_;
  std::string out_;
  std::unordered_map<ValueId, size_t> names_;
};

}  // namespace

std::string to_string(const Graph& graph) { return Printer(*graph.trace).print(graph.root); }

}  // namespace tenon
