// The only door into a module from outside.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "tenon/nn/module.h"

namespace tenon {

template <class R>
struct Functional {
  R result;
  Collected collected;
};

// Calls `method` of `module` with its state (as describe_state names it), under a key (empty: nothing may be drawn), in
// training or not. Any module can be called so: in a test, under grad or scan, from code that knows nothing of modules.
template <class I, class M, class... A>
auto functional(const I& module, M method, const Nest& state, const Tensor& key, bool training, A&&... inputs) {
  using R = std::decay_t<std::invoke_result_t<M, const I&, A...>>;
  Collected collected;
  const auto run = [&] {
    const Context in(module, Context::Root{&state, key, training, DType::f32, &collected});
    return std::invoke(method, module, std::forward<A>(inputs)...);
  };
  R result = run();
  return Functional<R>{std::move(result), std::move(collected)};
}

}  // namespace tenon
