// `tenon config …`, `tenon golden …` and `tenon completion …`: what looks at experiments without running them.
#pragma once

namespace tenon {

struct Command;

void add_config_commands(Command& program);
void add_golden_commands(Command& program);
void add_completion_command(Command& program);

}  // namespace tenon
