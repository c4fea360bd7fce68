// Changing a whole tree: the generic modifiers.
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/config/any_config.h"
#include "tenon/config/path_pattern.h"

namespace tenon {

enum class NoMatch : uint8_t { is_error, is_allowed };

// Copies from `old` into `next` what survives when `next` takes its place: the fields of the nearest interface both
// have, and of other fields those of the same name and type where `next` still has its default. What is unset or empty
// in `old` changes nothing.
void carry_over(const AnyConfig& old, AnyConfig& next);

// Replaces every config in the tree whose module is a `from` (an interface matches what implements it) by `to`, with
// what carry_over keeps: bottom-up, never looking into what was put in. Only where `within` covers the path. The root
// itself stays, and so does what is a `but_not`, though not what is in it. Returns how many were replaced. Throws
// `wrong_type` at the slot that `to` doesn't fit, and `invalid_argument` when nothing matches.
int64_t replace(AnyConfig& tree, const ConfigType& from, const AnyConfig& to, NoMatch no_match = NoMatch::is_error,
                const PathPattern& within = PathPattern("**"), const ConfigType* but_not = nullptr);

// replace<RoPE>(tree, NoPositions::Config{}).
template <class From>
int64_t replace(AnyConfig& tree, const AnyConfig& to, NoMatch no_match = NoMatch::is_error) {
  return replace(tree, From::Config::static_type(), to, no_match);
}

// Puts every such config into the slot called `slot` of a copy of `to`, which takes its place and keeps the fields of
// the nearest interface both have: bottom-up, never looking into what was put in. Throws as replace does,
// `unknown_name` when `to` has no such field, and `wrong_type` when that is no slot or what was there doesn't fit it.
int64_t wrap(AnyConfig& tree, const ConfigType& from, const AnyConfig& to, std::string_view slot,
             NoMatch no_match = NoMatch::is_error, const PathPattern& within = PathPattern("**"));

// wrap<QkvProjection>(tree, RotaryQkv::Config{}, "projection").
template <class From>
int64_t wrap(AnyConfig& tree, const AnyConfig& to, std::string_view slot, NoMatch no_match = NoMatch::is_error) {
  return wrap(tree, From::Config::static_type(), to, slot, no_match);
}

}  // namespace tenon
