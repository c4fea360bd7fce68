#include "tenon/optim/register.h"

#include "tenon/config/registry.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/frozen.h"
#include "tenon/optim/learner.h"
#include "tenon/optim/modifiers.h"
#include "tenon/optim/muon.h"
#include "tenon/optim/optimizer_by_path.h"

namespace tenon {

void register_optim(Registry& registry) {
  registry.add<Learner, AdamW, Muon, OptimizerByPath, OptimizerRule, Frozen, CosineWithWarmup, ConstantWithWarmup,
               Freeze>();
}

}  // namespace tenon
