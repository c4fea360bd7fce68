#pragma once

#include "tenon/config/registry.h"

namespace example {

void register_loss_target(tenon::Registry& registry);

}  // namespace example
