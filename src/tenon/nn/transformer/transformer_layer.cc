#include "tenon/nn/transformer/transformer_layer.h"

#include "tenon/config/define.h"

namespace tenon {

TENON_INTERFACE(TransformerLayer, Module, "one layer of a stack")

Nest TransformerLayer::read_memory(const Nest& cache, const Memory&) const { return cache; }

}  // namespace tenon
