// How a check came out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

enum class CheckStatus : uint8_t {
  works,      // it ran, and gave what it should
  compiles,   // there is nothing here to run it on
  differs,    // it ran, and gave something else
  refused,    // with the plugin's words
  crashed,    // the process that tried it ended
  hung,       // it took too long
  not_tried,  // and why
  lost,       // the devices didn't come back after what was tried before
};

std::string_view to_string(CheckStatus status);
// works, compiles or not_tried.
bool is_good(CheckStatus status);

struct CheckOutcome {
  CheckStatus status = CheckStatus::works;
  std::string words = {};  // what there is to say of it
};

}  // namespace tenon
