// The C library's allocator, set up for large arrays that come and go every step.
#pragma once

#include <cstddef>

namespace tenon {

// Keeps freed memory in the process instead of giving it back to the system, since getting it again costs page faults
// (15 % of a training step was measured), and asks for huge pages. Call once, at the start of main, before threads and
// large allocations. Nothing happens where the C library has no such settings, or under a sanitizer.
void configure_allocator();

// Bytes for which configure_allocator got huge pages: address space only, memory is taken when it is used.
size_t huge_page_bytes();

}  // namespace tenon
