// A graph that gives, in place of its results, something measured of the values inside it.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "tenon/ir/trace.h"

namespace tenon {

struct Watch {
  // Which values: results of ops, parameters of the program and of loop bodies.
  std::function<bool(ValueId)> wants;
  // What is kept of one: an array of one dimension, of the same type for all.
  std::function<Tensor(const Tensor&)> measure;
};

// Where a watched value's measure is: row `row` of result `result`, which is [n, size of a measure] and, for values in
// loops, has the lengths of the loops around them in front, outermost first.
struct WatchedPlace {
  size_t result = 0;
  int64_t row = 0;
};
using WatchedPlaces = std::unordered_map<ValueId, WatchedPlace>;

// Where in that result, of type `type`, the measure begins in these rounds of the loops around it, outermost first; of
// more rounds than there are loops the first count.
int64_t first_element(const WatchedPlace& place, const TensorType& type, std::span<const int64_t> rounds);

// Rewrites `graph`, whose old values keep their ids: the result names them. Scans are opened, one measure a round;
// of other ops with regions only the results can be watched, of what stands inside nothing.
WatchedPlaces watch_values(Graph& graph, const Watch& watch);

}  // namespace tenon
