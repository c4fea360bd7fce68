#include "tenon/nn/testing/evaluate.h"

#include <fmt/format.h>

#include <cmath>

#include "tenon/base/stacked_name.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/random.h"
#include "tenon/nn/initializers.h"
#include "tenon/nn/transformer/layers.h"

namespace tenon {
namespace {

// The names of the layers of `value`, stacked under `name`; one name where nothing is stacked.
std::vector<std::string> rows_of(const std::string& name, const Literal& value) {
  return layer_names(name, name.find("::") == std::string::npos ? 0 : value.dims()[0]);
}

}  // namespace

NestGraph nest_graph(const Values& state, const Values& inputs, const NestFn& f) {
  NestGraph out;
  std::vector<TensorType> types;
  for (const Literal& x : nest_arguments(state, inputs)) types.push_back(x.type());
  out.graph = make_graph(types, [&](const std::vector<Tensor>& args) {
    size_t next = 0;
    Nest s, i;
    for (const auto& [name, value] : state) s.emplace(name, args[next++]);
    for (const auto& [name, value] : inputs) i.emplace(name, args[next++]);
    const Nest results = f(s, i);
    for (const auto& [name, tensor] : results) out.result_names.push_back(name);
    return flatten(results);
  });
  return out;
}

std::vector<Literal> nest_arguments(const Values& state, const Values& inputs) {
  std::vector<Literal> out;
  for (const auto& [name, value] : state) out.push_back(value);
  for (const auto& [name, value] : inputs) out.push_back(value);
  return out;
}

Values name_results(const NestGraph& program, std::vector<Literal> results) {
  Values out;
  for (size_t i = 0; i < results.size(); ++i) out.emplace(program.result_names.at(i), std::move(results[i]));
  return out;
}

Values evaluate(const Values& state, const Values& inputs, const NestFn& f) {
  const NestGraph program = nest_graph(state, inputs, f);
  return name_results(program, interpret(program.graph, nest_arguments(state, inputs)));
}

Values initial_values(const Module& root, uint64_t seed) {
  return evaluate({}, {}, [&](const Nest&, const Nest&) { return init_state(root, make_key(seed), Mesh()); });
}

Nest flatten_collected(const Collected& collected) {
  Nest out;
  for (const auto& [path, o] : collected.summaries) out.emplace("summaries." + path, o.value);
  for (const auto& [path, o] : collected.aux) out.emplace("aux." + path, o.value);
  add_with_prefix(out, "updates.", collected.state_updates);
  return out;
}

Values unstack(const Values& values) {
  Values out;
  for (const auto& [name, value] : values) {
    const std::vector<std::string> names = rows_of(name, value);
    if (names.front() == name) {
      out.emplace(name, value);
      continue;
    }
    const TensorType type{value.dtype(), {value.dims().begin() + 1, value.dims().end()}};
    const size_t width = static_cast<size_t>(byte_size(type));
    for (size_t r = 0; r < names.size(); ++r) {
      const auto row = value.bytes().subspan(r * width, width);
      out.emplace(names[r], Literal(type, {row.begin(), row.end()}));
    }
  }
  return out;
}

Values stack_as(const Values& like, const Values& unstacked) {
  Values out;
  for (const auto& [name, value] : like) {
    std::vector<std::byte> bytes;
    TensorType type = value.type();
    for (const std::string& layer : rows_of(name, value)) {
      const Literal& row = unstacked.at(layer);
      type.dtype = row.dtype();
      bytes.insert(bytes.end(), row.bytes().begin(), row.bytes().end());
    }
    out.emplace(name, Literal(type, std::move(bytes)));
  }
  return out;
}

std::string difference(const Literal& got, const Literal& want, double tolerance) {
  if (got.dims() != want.dims()) return fmt::format("{} instead of {}", to_string(got.type()), to_string(want.type()));
  double largest = 0, worst = 0;
  int64_t where = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    largest = std::max(largest, std::fabs(want.as_double(i)));
    const double off = std::fabs(got.as_double(i) - want.as_double(i));
    if (std::isnan(off)) return fmt::format("element {}: {} instead of {}", i, got.as_double(i), want.as_double(i));
    if (off <= worst) continue;
    worst = off;
    where = i;
  }
  if (worst <= tolerance * largest) return "";
  return fmt::format("element {}: {} instead of {}, {} of the largest", where, got.as_double(where),
                     want.as_double(where), worst / largest);
}

}  // namespace tenon
