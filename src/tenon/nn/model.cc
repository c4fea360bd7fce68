#include "tenon/nn/model.h"

#include "tenon/config/define.h"

namespace tenon {

TENON_INTERFACE(Model, Module, "turns a batch into a sum of losses")

}  // namespace tenon
