// A PJRT plugin of long ago: the head of its function table, where the version is, and nothing to call.
#include <cstddef>

namespace {

struct Version {
  size_t struct_size;
  void* extensions;
  int major, minor;
};
struct Table {
  size_t struct_size;
  void* extensions;
  Version version;
};
Table table{sizeof(Table), nullptr, {sizeof(Version), nullptr, 0, 3}};

}  // namespace

extern "C" const void* GetPjrtApi() { return &table; }
