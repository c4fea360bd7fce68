// The command about plugins.
#pragma once

namespace tenon {

struct Command;

// `tenon backend check`.
void add_backend_command(Command& program);

}  // namespace tenon
