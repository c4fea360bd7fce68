// Input: the length of the data in four bytes, then the header's JSON.
#include "tenon/checkpoint/safetensors_header.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  if (size < 4) return 0;
  const uint64_t length = data[0] | data[1] << 8 | data[2] << 16 | uint64_t{data[3]} << 24;
  const std::string_view json = fuzz::as_text(data + 4, size - 4);
  const uint64_t begin = kSafetensorsPrefix + json.size();
  const Result<SafetensorsHeader> header = parse_safetensors_header(json, begin + length);
  if (!header.ok()) return 0;
  uint64_t at = begin;
  for (const TensorInfo& tensor : (*header).tensors) {
    fuzz::must(tensor.begin == at, "tensors lie behind one another");
    at = tensor.end;
    fuzz::must(static_cast<uint64_t>(byte_size(tensor.type)) == tensor.end - tensor.begin, "bytes fit the shape");
  }
  fuzz::must(at == begin + length, "tensors cover the data");
  const std::string again = format_safetensors_header(*header);
  fuzz::must(parse_safetensors_header(again.substr(kSafetensorsPrefix), again.size() + length).ok(),
             "what was read can be written");
  return 0;
}
