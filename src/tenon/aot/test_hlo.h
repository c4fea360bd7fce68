// Small optimized programs for tests, written by hand.
#pragma once

#include <utility>

#include "tenon/pjrt/hlo_module.h"

namespace tenon {

inline pjrt::HloShape f32(Dims dims) {
  pjrt::HloShape shape;
  shape.element_bits = 32;
  shape.dims = std::move(dims);
  return shape;
}

inline pjrt::HloShape tuple_of(std::vector<pjrt::HloShape> members) {
  pjrt::HloShape shape;
  shape.is_tuple = true;
  shape.members = std::move(members);
  return shape;
}

inline pjrt::HloInstruction hlo(std::string opcode, pjrt::HloShape shape, std::vector<size_t> operands = {},
                                std::string op_name = "", std::vector<size_t> called = {}) {
  pjrt::HloInstruction i;
  i.opcode = std::move(opcode);
  i.shape = std::move(shape);
  i.operands = std::move(operands);
  i.op_name = std::move(op_name);
  i.called = std::move(called);
  return i;
}

inline pjrt::HloInstruction hlo_member(const pjrt::HloShape& tuple, size_t operand, int64_t index) {
  pjrt::HloInstruction i = hlo("get-tuple-element", tuple.members[static_cast<size_t>(index)], {operand});
  i.tuple_index = index;
  return i;
}

// The root is the last instruction.
inline size_t add_computation(pjrt::HloModule& module, std::vector<pjrt::HloInstruction> instructions,
                              std::string name = "") {
  pjrt::HloComputation c;
  c.name = std::move(name);
  c.root = instructions.size() - 1;
  c.instructions = std::move(instructions);
  module.computations.push_back(std::move(c));
  return module.entry = module.computations.size() - 1;
}

// An empty condition of a loop.
inline size_t add_condition(pjrt::HloModule& module, const pjrt::HloShape& carry) {
  return add_computation(module, {hlo("parameter", carry), hlo("custom-call", f32({}), {0})});
}

inline pjrt::HloInstruction hlo_loop(const pjrt::HloShape& carry, size_t operand, size_t body, size_t condition,
                                     std::optional<int64_t> trips) {
  pjrt::HloInstruction i = hlo("while", carry, {operand}, "decoder.layers/scan", {body, condition});
  i.trip_count = trips;
  return i;
}

}  // namespace tenon
