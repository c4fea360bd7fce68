// What a compiler made of a candidate, and how that is written down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenon/base/json.h"
#include "tenon/tune/cost.h"

namespace tenon {

// What a compiler made of it. Kept in journals.
struct Evaluation {
  std::string rule, program;                                   // its modifiers as TOML, and the program's sha256
  std::string refusal;                                         // why there is none; "" when it was compiled
  bool too_large = false;                                      // the refusal: the compiler found too little memory
  int64_t bytes = 0, argument_bytes = 0, temporary_bytes = 0;  // on one device
  StepCounts counts;
  double compile_s = 0;
  std::optional<double> measured_s;  // of a step that was run, in processors' time over their number
  bool compiled() const { return refusal.empty(); }
  bool operator==(const Evaluation&) const = default;
};
Evaluation evaluation_of(const StepReport& report);

Json to_json(const Evaluation& evaluation);
// Throws `damaged` with the reason.
Evaluation read_evaluation(const Json& json);
Json to_json(const MachineSpeeds& speeds);
MachineSpeeds read_speeds(const Json& json);

}  // namespace tenon
