// `tenon tune`.
#pragma once

namespace tenon {

struct Command;
void add_tune_command(Command& program);

}  // namespace tenon
