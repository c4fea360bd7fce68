#include "tenon/optim/frozen.h"

#include "tenon/config/define.h"

namespace tenon {

TENON_MODULE(Frozen, Optimizer, "leaves parameters as they are")

}  // namespace tenon
