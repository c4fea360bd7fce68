#include "tenon/optim/offload.h"

#include <algorithm>

#include "tenon/autodiff/functional.h"
#include "tenon/base/regex.h"
#include "tenon/config/checker.h"
#include "tenon/ir/ops.h"

namespace tenon {

void OptimizerOffload::check(Checker& c) const {
  if (const Result<Regex> regex = Regex::compile(arrays); !regex) c.require(false, "arrays", regex.error().message());
}

namespace {

// A program that moved a whole stack would hold all of it on the device at once.
bool goes_by_layer(const OptimizerArgs& args) {
  const std::vector<Axis>& dims = args.param.partition.dims();
  const bool split = !dims.empty() && !dims[0].names.empty();
  return args.param.stack > 1 && !split && std::all_of(args.state.begin(), args.state.end(), [&](const auto& entry) {
           return entry.second.rank() > 0 && entry.second.dim(0) == args.value.dim(0);
         });
}

std::vector<Tensor> starts(const Tensor& x, const Tensor& layer) {
  std::vector<Tensor> out(static_cast<size_t>(x.rank()), zeros({DType::i32, {}}));
  out[0] = layer;
  return out;
}

// [L,…] -> [1,…]
Tensor read_layer(const Tensor& x, const Tensor& layer) {
  Dims size = x.dims();
  size[0] = 1;
  return dynamic_slice(x, starts(x, layer), size);
}

Tensor write_layer(const Tensor& x, const Tensor& layer, const Tensor& value) {
  return dynamic_update_slice(x, value, starts(x, layer));
}

}  // namespace

std::pair<Tensor, Nest> update_offloaded(const OptimizerArgs& args, const std::set<std::string>& on_host,
                                         const ParamUpdate& update) {
  const auto fetch = [&](const std::string& name, const Tensor& x) {
    return on_host.contains(name) ? to_device(x) : x;
  };
  const auto put = [&](const std::string& name, const Tensor& x) { return on_host.contains(name) ? to_host(x) : x; };
  if (!goes_by_layer(args)) {
    OptimizerArgs whole = args;
    for (auto& [name, x] : whole.state) x = fetch(name, x);
    auto [value, state] = update(whole);
    for (auto& [name, x] : state) x = put(name, x);
    return {value, std::move(state)};
  }
  // Value and state are updated in place, row by row.
  using Carry = std::pair<Tensor, Nest>;
  const auto body = [&](const Tensor& layer, Carry carry, const std::vector<Tensor>&) {
    OptimizerArgs one = args;
    one.layer = layer;
    one.value = read_layer(carry.first, layer);
    one.grad = read_layer(args.grad, layer);
    for (auto& [name, x] : one.state) x = fetch(name, read_layer(carry.second.at(name), layer));
    const auto [value, state] = update(one);
    carry.first = write_layer(carry.first, layer, value);
    for (auto& [name, x] : carry.second) x = write_layer(x, layer, put(name, state.at(name)));
    return std::pair<Carry, std::vector<Tensor>>(std::move(carry), {});
  };
  return scan(body, Carry{args.value, args.state}, std::vector<Tensor>(), args.value.dim(0)).first;
}

}  // namespace tenon
