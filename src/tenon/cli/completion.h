// Completion of command lines, for shells.
#pragma once

#include <string>
#include <vector>

namespace tenon {

struct Command;

// What the last of `words` (those behind "tenon", the last perhaps unfinished or empty) may become: commands, options,
// experiments, paths of --set (a part at a time), modifiers, types. None where a file is asked for, or nothing is
// known. Plug-ins that --plugin names are loaded first.
std::vector<std::string> complete(const Command& program, std::vector<std::string> words);

// A script for "bash" or "zsh" that makes the shell ask `tenon complete`.
std::string completion_script(const std::string& shell);

}  // namespace tenon
