// Input: a manifest without its checksum, which would keep all but a few inputs out. Whole inputs are read as well.
#include "tenon/checkpoint/manifest.h"

#include <fmt/format.h>

#include "fuzz.h"
#include "tenon/base/file.h"
#include "tenon/base/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  std::string text(fuzz::as_text(data, size));
  static_cast<void>(parse_manifest(text).ok());
  text += fmt::format(",\n\"crc32c\": \"{:08x}\"}}\n", crc32c(text));
  const Result<Manifest> manifest = parse_manifest(text);
  if (!manifest.ok()) return 0;
  for (const auto& [name, file] : (*manifest).files) fuzz::must(is_plain_file_name(name), "file names are plain");
  for (const auto& [name, tensor] : (*manifest).tensors) {
    fuzz::must((*manifest).files.contains(tensor.file), "tensors are in files of the manifest");
  }
  const std::string again = format_manifest(*manifest);
  fuzz::must(format_manifest(parse_manifest(again).value()) == again, "what is written is what is read");
  return 0;
}
