// Input: assignments as --set takes them, one a line.
#include <sstream>
#include <vector>

#include "fuzz.h"
#include "tenon/base/error.h"
#include "tenon/config/test_types.h"
#include "tenon/config/text.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  zoo::Model::Config config;
  config.vocab_size = 259;
  config.layers.push_back(zoo::GatedFeedForward::Config{});
  std::string before = to_toml(config);
  std::istringstream lines{std::string(fuzz::as_text(data, size))};
  for (std::string line; std::getline(lines, line);) {
    try {
      apply_set(config, line, zoo::registry());
      before = to_toml(config);
    } catch (const Error& error) {
      fuzz::must(error.code() != ErrorCode::internal, "no input is our bug");
      fuzz::must(to_toml(config) == before, "an error changes nothing");
    }
  }
  fuzz::must(to_toml(*from_toml(before, "again.toml", zoo::registry())) == before, "what is written is what is read");
  return 0;
}
