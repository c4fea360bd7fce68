// `tenon aot`: an experiment's programs compiled for a machine that isn't here.
#pragma once

namespace tenon {

struct Command;
void add_aot_command(Command& program);

}  // namespace tenon
