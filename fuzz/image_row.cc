// Input: the number of pixels, then a line of a .csv.
#include "tenon/data/image_row.h"

#include <algorithm>
#include <string>
#include <vector>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  if (size == 0) return 0;
  std::vector<uint8_t> pixels(data[0]);
  const Result<int32_t> label = parse_image_row(fuzz::as_text(data + 1, size - 1), pixels);
  if (!label.ok()) return 0;
  fuzz::must(*label >= 0, "no label is negative");
  std::string text;
  for (const uint8_t pixel : pixels) text += std::to_string(pixel) + ",";
  std::vector<uint8_t> again(pixels.size());
  fuzz::must(parse_image_row(text + std::to_string(*label), again).value() == *label && again == pixels,
             "what is written is what was read");
  return 0;
}
