// Configs as text: sorted `path = value` lines of TOML that load back to the same tree.
//
//   layers.0.hidden_dim.scale = 2.6666666666666665
//   layers.0.hidden_dim.type = "ScaledDim"
//   layers.0.type = "GatedFeedForward"
//   max_len = {}                            # an empty optional, slot or function
//   sources = []                            # an empty list
//   type = "Model"
//
// Required fields that aren't set are left out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/config/any_config.h"
#include "tenon/config/registry.h"
#include "tenon/config/slot.h"
#include "tenon/config/value.h"

namespace tenon {

struct TextLine {
  std::string path;
  std::string value;
  bool operator==(const TextLine&) const = default;
};

// "path = value\n" for each.
std::string to_string(const std::vector<TextLine>& lines);
// The lines of to_toml, sorted.
std::vector<TextLine> flatten(const AnyConfig& config);
std::string to_toml(const AnyConfig& config);

// The tree that `text` describes, `type = "…"` naming the root's class; checks are run. `filename` is for errors.
// Throws with path, file and line for anything that doesn't fit.
std::unique_ptr<AnyConfig> from_toml(std::string_view text, const std::string& filename = "",
                                     const Registry& registry = Registry::global());
// The same for a tree whose root must be an I.
template <class I>
Slot<I> from_toml_as(std::string_view text, const std::string& filename = "",
                     const Registry& registry = Registry::global()) {
  return Slot<I>::from(*from_toml(text, filename, registry));
}

// Lays `table` over the tree: changes what it names and keeps the rest (ApplyMode::overlay), then runs all checks. On
// an error the tree is unchanged.
void overlay(AnyConfig& config, const Value& table, const Registry& registry = Registry::global());
// The same for a table that is still text.
void apply_toml(AnyConfig& config, std::string_view text, const std::string& filename = "",
                const Registry& registry = Registry::global());

// Applies "path=value" assignments in order, then runs all checks. The value is TOML, or bare text where a string, a
// name or a type is expected. On an error the tree is unchanged.
void apply_set(AnyConfig& config, std::string_view assignment, const Registry& registry = Registry::global());
void apply_set(AnyConfig& config, const std::vector<std::string>& assignments,
               const Registry& registry = Registry::global());

// One line in which two trees differ; nullopt where one has no such line.
struct Difference {
  std::string path;
  std::optional<std::string> before, after;
  bool operator==(const Difference&) const = default;
};
// "model.norm.eps: 1e-5 -> 1e-6", "(none)" for a line that isn't there.
std::string to_string(const Difference& difference);
std::vector<Difference> diff(const AnyConfig& before, const AnyConfig& after);

}  // namespace tenon
