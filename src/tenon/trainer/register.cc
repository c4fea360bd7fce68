#include "tenon/trainer/register.h"

#include "tenon/config/registry.h"
#include "tenon/trainer/modifiers.h"
#include "tenon/trainer/trainer.h"

namespace tenon {

void register_trainer(Registry& registry) { registry.add<Trainer, SetMesh, AccumulateGradients, ScaleBatch>(); }

}  // namespace tenon
