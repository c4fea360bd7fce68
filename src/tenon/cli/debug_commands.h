// `tenon debug …`: looking into an experiment's train step.
#pragma once

namespace tenon {

struct Command;

// `dump` shows the train step as it was traced, after each pass and as StableHLO; `inspect` a module's values on one
// batch.
void add_debug_commands(Command& program);

}  // namespace tenon
