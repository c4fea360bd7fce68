#include "tenon/nn/module.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/config/define.h"
#include "tenon/nn/initializers.h"

namespace tenon {

TENON_INTERFACE(Module, Configurable, "a part of a model", {"remat", "what the backward pass keeps of this module"},
                {"compute_dtype", "dtype parameters are read in"}, {"param_dtype", "dtype parameters are stored in"})

Module::~Module() = default;

void Module::check_new_name(std::string_view name) const {
  const auto taken = [&](const auto& list, auto get) {
    return std::any_of(list.begin(), list.end(), [&](const auto& x) { return get(x) == name; });
  };
  if (taken(params_, [](const Param* p) { return p->name(); }) ||
      taken(states_, [](const State* s) { return s->name(); }) ||
      taken(children_, [](const ChildEntry& c) { return c.name; })) {
    throw Error(ErrorCode::invalid_argument, fmt::format("a module has two parts named '{}'", name));
  }
}

void Module::add_child(ChildEntry child) {
  check_new_name(child.name);
  children_.push_back(std::move(child));
}

void Module::freeze(std::string_view child) {
  const auto entry =
      std::find_if(children_.begin(), children_.end(), [&](const ChildEntry& c) { return c.name == child; });
  check(entry != children_.end(), "a child to freeze");
  entry->frozen = true;
}

void Module::share(std::string_view name, std::string_view child) { shared_.emplace_back(name, child); }

const Module::ChildEntry* Module::find_shared(std::string_view name) const {
  for (const auto& [shared, child] : shared_) {
    if (shared != name) continue;
    for (const ChildEntry& entry : children_) {
      if (entry.name == child) return &entry;
    }
  }
  return nullptr;
}

namespace detail {

Context& context_of(const Module& parent, std::string_view child) {
  Context& here = Context::current();
  if (&here.module() != &parent) {
    throw Error(ErrorCode::wrong_context, fmt::format("child '{}' was called outside its parent's methods", child))
        .at(here.path())
        .hint("call the parent's method; only it may call its children");
  }
  return here;
}

std::pair<Context*, const Module::ChildEntry*> find_shared(std::string_view name) {
  for (Context* c = &Context::current(); c != nullptr; c = c->parent()) {
    if (const Module::ChildEntry* entry = c->module().find_shared(name)) return {c, entry};
  }
  throw Error(ErrorCode::wrong_context, fmt::format("no module above shares '{}'", name)).at(Context::current().path());
}

}  // namespace detail

namespace {

// The stack of scanned layers that a module is in.
struct StackInfo {
  int64_t size = 0;  // 0: none
  Axis axis = {};
  PartitionSpec of(const PartitionSpec& one) const {
    if (size == 0) return one;
    std::vector<Axis> dims = one.dims();
    dims.insert(dims.begin(), axis);
    return PartitionSpec(std::move(dims));
  }
  PartitionSpec of_state() const { return axis.names.empty() ? PartitionSpec() : of({}); }
};

// What a module's parameters have of those above it.
struct Inherited {
  std::string prefix;
  StackInfo stack;
  DType dtype = DType::f32;
  bool frozen = false;
};

void describe(const Module& module, Inherited here, bool params, std::vector<ParamInfo>& out) {
  if (const auto own = module.param_dtype()) here.dtype = kept_dtype(*own, here.prefix + "param_dtype");
  const StackInfo& stack = here.stack;
  if (params) {
    for (const Param* p : module.params()) {
      const ParamSpec& spec = p->spec();
      out.push_back({here.prefix + p->name(), p->shape(), stack.size, stack.of(spec.partition), spec.init,
                     spec.decay_scale, !here.frozen, here.dtype});
    }
  } else {
    for (const State* s : module.states()) {
      const Initializer init = s->initial() == 0 ? Initializer() : Initializer(Constant{s->initial()});
      out.push_back(
          {here.prefix + s->name(), s->shape(), stack.size, stack.of_state(), init, 0, false, DType::f32, s->source()});
    }
  }
  for (const Module::ChildEntry& child : module.children()) {
    if (child.repeats > 0 && stack.size > 0) {
      throw Error(ErrorCode::unsupported, "a scanned stack inside a scanned stack")
          .at(here.prefix + child.name)
          .hint("give the inner stack form = \"unroll\"");
    }
    Inherited below = here;
    below.prefix += child.name + ".";
    if (child.repeats > 0) below.stack = {child.repeats, child.axis};
    below.frozen = here.frozen || child.frozen;
    describe(*child.module, std::move(below), params, out);
  }
}

}  // namespace

Dims ParamInfo::logical_shape() const {
  Dims out = shape;
  if (stack > 0) out.insert(out.begin(), stack);
  return out;
}

std::vector<ParamInfo> describe_state(const Module& root) {
  std::vector<ParamInfo> out;
  describe(root, {}, true, out);
  describe(root, {}, false, out);
  return out;
}

}  // namespace tenon
