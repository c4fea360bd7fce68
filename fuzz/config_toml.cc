// Input: a config tree as TOML.
#include "fuzz.h"
#include "tenon/base/error.h"
#include "tenon/config/test_types.h"
#include "tenon/config/text.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  std::string text;
  try {
    text = to_toml(*from_toml(fuzz::as_text(data, size), "input.toml", zoo::registry()));
  } catch (const Error& error) {
    fuzz::must(error.code() != ErrorCode::internal, "no input is our bug");
    return 0;
  }
  fuzz::must(to_toml(*from_toml(text, "again.toml", zoo::registry())) == text, "what is written is what is read");
  return 0;
}
