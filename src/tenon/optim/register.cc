#include "tenon/optim/register.h"

#include "tenon/config/registry.h"
#include "tenon/optim/adafactor.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/clip.h"
#include "tenon/optim/frozen.h"
#include "tenon/optim/learner.h"
#include "tenon/optim/lion.h"
#include "tenon/optim/modifiers.h"
#include "tenon/optim/muon.h"
#include "tenon/optim/optimizer_by_path.h"
#include "tenon/optim/sgd.h"
#include "tenon/optim/shampoo.h"

namespace tenon {

void register_optim(Registry& registry) {
  registry.add<Learner, AdamW, Muon, Adafactor, Shampoo, Lion, Sgd, OptimizerByPath, OptimizerRule, Frozen>();
  registry.add<ClipByValue, AdaptiveClip, LayerDecay, Freeze, AddLoRA, OffloadOptimizerState>();
  registry.add<CosineWithWarmup, ConstantWithWarmup, LinearWithWarmup, InverseSqrtWithWarmup, WarmupStableDecay,
               Stepwise>();
}

}  // namespace tenon
