// Input: a file of numpy.
#include "fuzz.h"
#include "tenon/data/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  const Result<NpyHeader> header = parse_npy_header(bytes);
  if (!header.ok()) return 0;
  uint64_t elements = 1;
  for (const int64_t dim : (*header).shape) {
    fuzz::must(dim >= 0, "no size is negative");
    elements *= static_cast<uint64_t>(dim);
  }
  fuzz::must((*header).data_begin <= size, "the array begins in the file");
  fuzz::must(elements * static_cast<uint64_t>((*header).item_bytes) == size - (*header).data_begin,
             "the array is all of the rest");
  fuzz::must(!(*header).type_name().empty(), "the type has a name");
  return 0;
}
