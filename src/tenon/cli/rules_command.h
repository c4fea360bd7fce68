// `tenon rules …`: looks at mesh rules without running anything.
#pragma once

namespace tenon {

struct Command;

void add_rules_command(Command& program);

}  // namespace tenon
