// `tenon measure`.
#pragma once

namespace tenon {

struct Command;

void add_measure_command(Command& program);

}  // namespace tenon
