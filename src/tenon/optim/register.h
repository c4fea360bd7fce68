#pragma once

namespace tenon {

class Registry;
// The learner, the optimizers and the schedules.
void register_optim(Registry& registry);

}  // namespace tenon
