// `tenon data …`: from text to what training reads.
#pragma once

namespace tenon {

struct Command;

void add_data_commands(Command& program);

}  // namespace tenon
