#include "tenon/ir/ops/custom_call.h"

#include "tenon/ir/ops/support.h"

namespace tenon {
namespace {

std::vector<TensorType> infer_custom_call(const InferArgs& a) { return a.attrs.types("results"); }

void print_custom_call(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.custom_call @{}({}) {{{}}} : {}", op.attrs.text("target"), w.names(op.operands),
                           op.attrs.text("attributes"), w.signature(op)));
}

std::vector<Literal> eval_custom_call(const EvalArgs& a) {
  throw Error(ErrorCode::unsupported, fmt::format("'{}' runs on its own platform alone", a.attrs().text("target")))
      .at(std::string(a.trace.path_of(a.op)))
      .hint("interpret the program as it is before kernels are selected");
}

const OpDef kCustomCall{"custom_call",     infer_custom_call,
                        print_custom_call, eval_custom_call,
                        nullptr,           "it stands in programs whose gradients are taken already",
                        nullptr,           Recompute::expensive};

}  // namespace

std::vector<Tensor> custom_call(const CustomCall& call, const std::vector<Tensor>& operands,
                                const std::vector<TensorType>& results) {
  return current_trace().emit(kCustomCall, operands,
                              {{"target", call.target}, {"attributes", call.attributes}, {"results", results}});
}

bool is_custom_call(const OpInfo& op) { return op.def == &kCustomCall; }

}  // namespace tenon
