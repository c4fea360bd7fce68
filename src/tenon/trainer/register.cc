#include "tenon/trainer/register.h"

#include "tenon/config/registry.h"
#include "tenon/trainer/evaluator.h"
#include "tenon/trainer/modifiers.h"
#include "tenon/trainer/step_hook.h"
#include "tenon/trainer/summary_jsonl.h"
#include "tenon/trainer/summary_tensorboard.h"
#include "tenon/trainer/trainer.h"

namespace tenon {

void register_trainer(Registry& registry) {
  registry.add<Trainer, LossEvaluator, EarlyStopping, SaveEverySeconds, TimeLimit, JsonlWriter, TensorBoardWriter,
               SetMesh, AccumulateGradients, SetXlaFlags, ShardOptimizerOnly, ScaleBatch, SetPrecision>();
}

}  // namespace tenon
