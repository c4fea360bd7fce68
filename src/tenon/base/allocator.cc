#include "tenon/base/allocator.h"

#if defined(__GLIBC__) && !defined(TENON_SANITIZED)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#endif

namespace tenon {
namespace {

size_t huge_bytes = 0;

#if defined(__GLIBC__) && !defined(TENON_SANITIZED)
// Most systems give huge pages only where they are asked for. The heap is grown once to half the machine's memory,
// marked, and freed again: with trimming off it stays, and everything allocated later lies in it.
size_t reserve_huge_pages() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = page * static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) / 2;
  void* block = std::malloc(bytes);
  if (block == nullptr) return 0;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(block) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(block) + bytes) / page * page;
  const bool marked = madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE) == 0;
  std::free(block);
  return marked ? end - begin : 0;
}
#endif

}  // namespace

void configure_allocator() {
#if defined(__GLIBC__) && !defined(TENON_SANITIZED)
  mallopt(M_MMAP_MAX, 0);         // a block with a mapping of its own is given back when it is freed
  mallopt(M_TRIM_THRESHOLD, -1);  // never
  mallopt(M_TOP_PAD, 64 << 20);
  mallopt(M_ARENA_MAX, 1);
  huge_bytes = reserve_huge_pages();
#endif
}

size_t huge_page_bytes() { return huge_bytes; }

}  // namespace tenon
