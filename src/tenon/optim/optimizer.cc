#include "tenon/optim/optimizer.h"

#include "tenon/config/define.h"

namespace tenon {

TENON_INTERFACE(Optimizer, Configurable, "updates a parameter from its gradient")

}  // namespace tenon
