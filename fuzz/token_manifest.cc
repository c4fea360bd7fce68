// Input: the list of prepared data without its checksum. Whole inputs are read as well.
#include "tenon/data/token_manifest.h"

#include <fmt/format.h>

#include "fuzz.h"
#include "tenon/base/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  std::string text(fuzz::as_text(data, size));
  static_cast<void>(parse_token_manifest(text).ok());
  text += fmt::format(",\n\"crc32c\": \"{:08x}\"}}\n", crc32c(text));
  const Result<TokenManifest> manifest = parse_token_manifest(text);
  if (!manifest.ok()) return 0;
  for (const auto& [name, crc] : (*manifest).tokenizer_files) {
    fuzz::must(name.find('/') == name.npos, "file names are plain");
  }
  const std::string again = format_token_manifest(*manifest);
  fuzz::must(format_token_manifest(parse_token_manifest(again).value()) == again, "what is written is what is read");
  return 0;
}
