// What libstdc++ takes from glibc 2.36, so that tenon_portable runs with 2.35 too.
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" uint32_t arc4random() noexcept {
  uint32_t bits = 0;
  if (getrandom(&bits, sizeof(bits), 0) != static_cast<ssize_t>(sizeof(bits))) std::abort();
  return bits;
}
