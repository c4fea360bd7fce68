#include "tenon/nn/position/token_order.h"

#include <fmt/format.h>

#include "tenon/ir/mesh_scope.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/trace.h"

namespace tenon {
namespace {

thread_local TokenOrder current = TokenOrder::as_read;

}  // namespace

Tensor lay_tokens(const Tensor& x, TokenOrder order) {
  const int64_t devices = program_mesh().size("seq"), pieces = 2 * devices, tokens = x.dim(1);
  if (order == TokenOrder::as_read || devices == 1) return x;
  if (tokens % pieces != 0) {
    throw Error(ErrorCode::mesh_mismatch, "tokens in zigzag order don't divide over the mesh axis 'seq'")
        .at("data.sequence_length")
        .got(fmt::format("{} tokens over {} devices", tokens, devices))
        .expected(fmt::format("a multiple of {}", pieces));
  }
  const int64_t size = tokens / pieces;
  std::vector<Tensor> out;
  for (int64_t device = 0; device < devices; ++device) {
    for (const int64_t piece : {device, pieces - 1 - device}) {
      out.push_back(slice_dim(x, 1, piece * size, (piece + 1) * size));
    }
  }
  return concatenate(out, 1);
}

TokenOrder token_order() { return current; }

void require_neighbours() {
  if (current == TokenOrder::as_read || program_mesh().size("seq") == 1) return;
  throw Error(ErrorCode::unsupported, "a layer that mixes neighbouring tokens, whose tokens lie in zigzag order")
      .at(std::string(current_trace().path()))
      .hint("set the model's token_order = \"as_read\"");
}

TokenOrderScope::TokenOrderScope(TokenOrder order) : previous_(current) { current = order; }
TokenOrderScope::~TokenOrderScope() { current = previous_; }

}  // namespace tenon
