// Takes the place of glibc's allocator in this program and all it loads, counts, and passes on.
#include "counted_malloc.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* p, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* p);
}

namespace tenon {
namespace {

std::atomic<int64_t> now = 0, most = 0;

void* count(void* p) {
  if (p == nullptr) return p;
  const int64_t bytes = now += static_cast<int64_t>(malloc_usable_size(p));
  for (int64_t seen = most; bytes > seen && !most.compare_exchange_weak(seen, bytes);) {
  }
  return p;
}
void uncount(void* p) {
  if (p != nullptr) now -= static_cast<int64_t>(malloc_usable_size(p));
}

}  // namespace

int64_t allocated_bytes() { return now; }
int64_t peak_allocated_bytes() { return most; }
void reset_peak() { most = now.load(); }

}  // namespace tenon

extern "C" {
void* malloc(size_t size) { return tenon::count(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) { return tenon::count(__libc_calloc(count, size)); }
void* realloc(void* p, size_t size) {
  tenon::uncount(p);
  void* moved = __libc_realloc(p, size);
  // Where that failed, the old one is still there.
  tenon::count(moved == nullptr && size > 0 ? p : moved);
  return moved;
}
void* memalign(size_t alignment, size_t size) { return tenon::count(__libc_memalign(alignment, size)); }
void* aligned_alloc(size_t alignment, size_t size) { return tenon::count(__libc_memalign(alignment, size)); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* p = tenon::count(__libc_memalign(alignment, size));
  if (p == nullptr) return ENOMEM;
  *out = p;
  return 0;
}
void free(void* p) {
  tenon::uncount(p);
  __libc_free(p);
}
}
