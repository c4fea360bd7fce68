#include "tenon/ir/verify.h"

#include <fmt/format.h>

#include "tenon/ir/op_def.h"

namespace tenon {
namespace {

class Verifier {
 public:
  explicit Verifier(const Trace& trace) : trace_(trace), state_(trace.num_values(), State::unknown) {}

  // `parent` is the region around `id`, and `place` says whose it is.
  void region(RegionId id, RegionId parent, const std::string& place) {
    const RegionInfo& info = trace_.region(id);
    if (info.open) fail("a region is open", place);
    if (info.parent != parent) fail("a region is used outside the one it was traced in", place);
    std::vector<ValueId> defined;
    define(info.params, id, kNoId, defined, place);
    for (const OpId op_id : info.ops) op(op_id, id, defined);
    for (const ValueId v : info.results) use(v, "a region's result", place);
    for (const ValueId v : defined) state_[v] = State::gone;
  }

 private:
  enum class State : uint8_t { unknown, visible, gone };

  [[noreturn]] static void fail(const std::string& what, const std::string& place) {
    throw Error(ErrorCode::internal, "broken graph: " + what).at(place);
  }

  void define(const std::vector<ValueId>& values, RegionId region, OpId def, std::vector<ValueId>& defined,
              const std::string& place) {
    for (size_t i = 0; i < values.size(); ++i) {
      const ValueInfo& info = trace_.value(values[i]);
      if (state_[values[i]] != State::unknown) fail(fmt::format("value {} is defined twice", values[i]), place);
      if (info.region != region || info.def != def || info.index != i) {
        fail(fmt::format("value {} says it is defined elsewhere", values[i]), place);
      }
      state_[values[i]] = State::visible;
      defined.push_back(values[i]);
    }
  }

  void use(ValueId v, const std::string& what, const std::string& place) {
    if (state_[v] == State::visible) return;
    const char* why = state_[v] == State::unknown ? "before it is defined" : "of a region that is closed";
    fail(fmt::format("{} is value {}, {}", what, v, why), place);
  }

  void op(OpId id, RegionId home, std::vector<ValueId>& defined) {
    const OpInfo& info = trace_.op(id);
    const std::string_view path = trace_.path_of(info);
    const std::string place = fmt::format("{}{}{}", path, path.empty() ? "" : "/", info.def->name);
    if (info.region != home) fail("an op is listed in a region that isn't its own", place);
    for (size_t i = 0; i < info.operands.size(); ++i) use(info.operands[i], fmt::format("operand {}", i), place);
    for (const RegionId inner : info.regions) region(inner, home, place);
    check_types(info, place);
    define(info.results, home, id, defined, place);
  }

  void check_types(const OpInfo& info, const std::string& place) {
    const InferArgs args{trace_, trace_.types(info.operands), info.attrs, info.regions};
    std::vector<TensorType> types;
    try {
      types = info.def->infer(args);
    } catch (const Error& e) {
      fail(e.message(), place);
    }
    if (types.size() != info.results.size()) fail("its number of results isn't what it infers", place);
    for (size_t i = 0; i < types.size(); ++i) {
      const TensorType& has = trace_.value(info.results[i]).type;
      if (has != types[i])
        fail(fmt::format("result {} is {} but infers {}", i, to_string(has), to_string(types[i])), place);
    }
  }

  const Trace& trace_;
  std::vector<State> state_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(*graph.trace).region(graph.root, kNoId, "graph"); }

}  // namespace tenon
