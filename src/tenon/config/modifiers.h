// The modifiers that know no machine learning.
#pragma once

#include <string>
#include <vector>

#include "tenon/config/config.h"
#include "tenon/config/modifier.h"
#include "tenon/config/value.h"

namespace tenon {

// Puts `to` in the place of every config in the tree whose class is, or implements, the one called `from`
// (modify.h: replace).
struct Replace {
  Required<std::string> from;
  Slot<Configurable> to;
  std::string within = "**";  // only there and below (path_pattern.h)
  TENON_FN(from, to, within)
  void operator()(AnyConfig& tree) const;
};

// Puts every such config into the slot called `slot` of a `to` that takes its place (modify.h: wrap).
struct Wrap {
  Required<std::string> from;
  Slot<Configurable> to;
  Required<std::string> slot;
  std::string within = "**";
  TENON_FN(from, to, slot, within)
  void operator()(AnyConfig& tree) const;
};

// Sets every field whose path matches `path`, as `--set` would.
struct SetField {
  Required<std::string> path;
  Required<Value> value;
  TENON_FN(path, value)
  void operator()(AnyConfig& tree) const;
};

// Multiplies every integer field called `field`, wherever it is set; results must be whole.
struct ScaleDimension {
  Required<std::string> field;
  double factor = 1;
  std::string within = "**";
  void check(Checker& c) const;
  TENON_FN(field, factor, within)
  void operator()(AnyConfig& tree) const;
};

// One modifier after the other, as one.
struct Chain {
  std::vector<Modifier> modifiers = {};
  void check(Checker& c) const;
  TENON_FN(modifiers)
  void operator()(AnyConfig& tree) const;
};

class Registry;
void register_modifiers(Registry& registry);

}  // namespace tenon
