// Changing a whole tree: the generic modifiers.
#pragma once

#include <cstdint>

#include "tenon/config/any_config.h"

namespace tenon {

enum class NoMatch : uint8_t { is_error, is_allowed };

// Copies from `old` into `next` what survives when `next` takes its place: the fields of the nearest interface both
// have, and of other fields those of the same name and type where `next` still has its default. What is unset or empty
// in `old` changes nothing.
void carry_over(const AnyConfig& old, AnyConfig& next);

// Replaces every config in the tree whose module is a `from` (an interface matches what implements it) by `to`, with
// what carry_over keeps: bottom-up, never looking into what was put in. The root itself stays. Returns how many were
// replaced. Throws `wrong_type` at the slot that `to` doesn't fit, and `invalid_argument` when nothing matches.
int64_t replace(AnyConfig& tree, const ConfigType& from, const AnyConfig& to, NoMatch no_match = NoMatch::is_error);

// replace<RoPE>(tree, NoPositions::Config{}).
template <class From>
int64_t replace(AnyConfig& tree, const AnyConfig& to, NoMatch no_match = NoMatch::is_error) {
  return replace(tree, From::Config::static_type(), to, no_match);
}

}  // namespace tenon
