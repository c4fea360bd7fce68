// For tests: modules on named values, in the reference interpreter.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tenon/autodiff/functional.h"
#include "tenon/base/literal.h"
#include "tenon/nn/module.h"

namespace tenon {

using Values = std::map<std::string, Literal>;
// Named results from named inputs.
using NestFn = std::function<Nest(const Nest& state, const Nest& inputs)>;

// `f` as a program: its parameters are the state's values, then the inputs', each by name; its results by name.
struct NestGraph {
  Graph graph;
  std::vector<std::string> result_names;
};
NestGraph nest_graph(const Values& state, const Values& inputs, const NestFn& f);
// The arguments of such a program.
std::vector<Literal> nest_arguments(const Values& state, const Values& inputs);
Values name_results(const NestGraph& program, std::vector<Literal> results);
// `f` of these values, interpreted.
Values evaluate(const Values& state, const Values& inputs, const NestFn& f);

// What init_state gives under make_key(seed).
Values initial_values(const Module& root, uint64_t seed);

// "summaries.<path>", "aux.<path>" and "updates.<path>".
Nest flatten_collected(const Collected& collected);

// Arrays of scanned stacks ("layers.1::2.scale" [R, …]) as one a layer ("layers.1.scale", "layers.3.scale", …).
Values unstack(const Values& values);
// The other way, for stacks of the names in `like`.
Values stack_as(const Values& like, const Values& unstacked);

// Values at most `tolerance` times the largest magnitude of `want` away, or the difference in words.
std::string difference(const Literal& got, const Literal& want, double tolerance);

}  // namespace tenon
