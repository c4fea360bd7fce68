// `tenon parity`: whether meshes change what is learned.
#pragma once

namespace tenon {

struct Command;

void add_parity_command(Command& program);

}  // namespace tenon
