// Named points where a test can make things go wrong: crash the process, throw, or let a system call fail.
#pragma once

#include <functional>
#include <string_view>

namespace tenon {

// Called at every fault point with its name. It may throw or end the process; at points in front of a system call
// ("file.write" and the others in file.h) the value it returns, unless 0, is the errno the call fails with.
using FaultHandler = std::function<int(std::string_view point)>;

// Installs a handler for the whole process (an empty one removes it). For tests; may be called from any thread, and the
// handler may be called by several at once.
void set_fault_handler(FaultHandler handler);

// Marks a point: 0, or what the handler returns.
int fault_point(std::string_view point);

}  // namespace tenon
