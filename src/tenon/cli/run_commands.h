// `tenon runs` and `tenon plot`: what has been trained.
#pragma once

namespace tenon {

struct Command;

void add_run_commands(Command& program);

}  // namespace tenon
