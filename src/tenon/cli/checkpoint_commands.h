// `tenon checkpoint …`: what a run has saved.
#pragma once

namespace tenon {

struct Command;

void add_checkpoint_commands(Command& program);

}  // namespace tenon
