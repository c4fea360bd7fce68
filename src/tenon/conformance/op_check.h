// Cases of the op table as programs of a backend.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tenon/conformance/check_machine.h"
#include "tenon/ir/cases/op_cases.h"

namespace tenon {

// Puts cases for the same mesh into one program, side by side, compiles it and, where the machine can, runs it: what
// differs from the interpreter, by place in `cases`. Cases for one device are compiled for `least_mesh()`. Throws what
// the plugin says against the program.
std::map<size_t, std::string> check_cases(const CheckMachine& machine, const std::vector<const OpCase*>& cases);

}  // namespace tenon
