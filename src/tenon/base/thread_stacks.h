// What all threads of this process are doing.
#pragma once

namespace tenon {

// Writes the name, the kernel's state and the stack of every other thread to `fd`, innermost call first, with symbols
// as the linker has them (`c++filt` makes them readable). Takes no memory from the heap and no lock of the process's
// own, so that it works when those are what hangs; a thread that doesn't answer within half a second is named without
// its stack. Uses the last real-time signal, whose handler it installs. For one caller at a time.
void write_thread_stacks(int fd);

// What must have happened once before: loads what unwinding needs.
void prepare_thread_stacks();

}  // namespace tenon
