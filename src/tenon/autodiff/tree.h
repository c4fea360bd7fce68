// Trees of tensors: what scan, grad and jit take and give. A tree is a Tensor, a std::vector, optional, pair, tuple or
// map of trees, or a struct that names its fields with TENON_TREE.
#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tenon/ir/tensor.h"

namespace tenon {

// Named tensors, by dotted path ("decoder.norm.scale"): parameters, caches, optimizer state, collected outputs.
using Nest = std::map<std::string, Tensor>;

// In a struct: the fields that make it a tree.
#define TENON_TREE(...)                                \
  auto tree_fields() { return std::tie(__VA_ARGS__); } \
  auto tree_fields() const { return std::tie(__VA_ARGS__); }

// Calls f(Tensor&) on every tensor of a tree, in a fixed order; empty tensors are passed over.
template <class F>
void for_each_tensor(Tensor& t, F&& f) {
  if (t) f(t);
}
template <class T, class F>
void for_each_tensor(std::vector<T>& v, F&& f);
template <class T, class F>
void for_each_tensor(std::optional<T>& v, F&& f);
template <class K, class T, class F>
void for_each_tensor(std::map<K, T>& v, F&& f);
template <class A, class B, class F>
void for_each_tensor(std::pair<A, B>& v, F&& f);
template <class... T, class F>
void for_each_tensor(std::tuple<T...>& v, F&& f);
template <class T, class F>
  requires requires(T& t) { t.tree_fields(); }
void for_each_tensor(T& v, F&& f) {
  std::apply([&](auto&... field) { (for_each_tensor(field, f), ...); }, v.tree_fields());
}
template <class T, class F>
void for_each_tensor(std::vector<T>& v, F&& f) {
  for (T& x : v) for_each_tensor(x, f);
}
template <class T, class F>
void for_each_tensor(std::optional<T>& v, F&& f) {
  if (v) for_each_tensor(*v, f);
}
template <class K, class T, class F>
void for_each_tensor(std::map<K, T>& v, F&& f) {
  for (auto& [key, x] : v) for_each_tensor(x, f);
}
template <class A, class B, class F>
void for_each_tensor(std::pair<A, B>& v, F&& f) {
  for_each_tensor(v.first, f);
  for_each_tensor(v.second, f);
}
template <class... T, class F>
void for_each_tensor(std::tuple<T...>& v, F&& f) {
  std::apply([&](auto&... x) { (for_each_tensor(x, f), ...); }, v);
}

template <class T>
concept Tree = requires(T& t) { for_each_tensor(t, [](Tensor&) {}); };

template <Tree T>
std::vector<Tensor> flatten(const T& tree) {
  T copy = tree;
  std::vector<Tensor> out;
  for_each_tensor(copy, [&](Tensor& t) { out.push_back(t); });
  return out;
}

// `like` with its tensors replaced by values[next], values[next + 1], …; moves `next` on.
template <Tree T>
T unflatten(T like, const std::vector<Tensor>& values, size_t& next) {
  for_each_tensor(like, [&](Tensor& t) { t = values.at(next++); });
  return like;
}
template <Tree T>
T unflatten(T like, const std::vector<Tensor>& values) {
  size_t next = 0;
  return unflatten(std::move(like), values, next);
}

}  // namespace tenon
