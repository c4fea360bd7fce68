// The `tenon` command.
#pragma once

namespace tenon {

// Parses the command line, runs the command, prints errors; returns the process's exit status (docs/errors.md).
int run_app(int argc, char** argv);

}  // namespace tenon
