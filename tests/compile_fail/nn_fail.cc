// What modules refuse at compile time. Without any FAIL_ macro it compiles; with one it must not.
#include "tenon/nn/functional.h"
#include "tenon/nn/language/decoder.h"

namespace tenon {

// A parent that fills in what its child's interface names, and calls it through its context.
class Parent final : public Module {
 public:
  struct Config : Module::Config {
    Slot<FeedForward> feed_forward;
    TENON_CONFIG(feed_forward)
  };
  explicit Parent(const Config& c)
      : Module(c),
        weight_(this, "weight", {2}),
        feed_forward_(this, "feed_forward", c.feed_forward, [](FeedForward::Config& f) {
          f.input_dim = 2;
#if defined(FAIL_CHILD_INTERNALS)
          f.hidden_dim = 3;
#endif
        }) {
  }
  Tensor forward(const Tensor& x) const { return feed_forward_(x * weight_); }

#if defined(FAIL_FILL_OF_AN_IMPLEMENTATION)
  struct Filled {
    Child<FeedForward> child;
    Filled(Module* m, const Slot<FeedForward>& slot)
        : child(m, "child", slot, [](GatedFeedForward::Config& f) { f.hidden_dim = 3; }) {}
  };
#endif

  Tensor reaches(const Tensor& x) const {
#if defined(FAIL_NO_ARROW)
    return feed_forward_->forward(x);
#elif defined(FAIL_NO_DEREFERENCE)
    return (*feed_forward_).forward(x);
#elif defined(FAIL_CHILDS_MODULE)
    return feed_forward_.module_->forward(x);
#elif defined(FAIL_WRONG_METHOD)
    return feed_forward_.call(&Norm::forward, x);
#elif defined(FAIL_STATE_WRITTEN)
    weight_ = x;
    return x;
#else
    return feed_forward_.call(&FeedForward::forward, x);
#endif
  }

 private:
  Param weight_;
  Child<FeedForward> feed_forward_;
};

Tensor outside(const Parent& parent, const Decoder& decoder, const Nest& state, const Tensor& x) {
#if defined(FAIL_ANOTHERS_PARAM)
  return parent.weight_;
#elif defined(FAIL_ANOTHERS_CHILD)
  return decoder.norm_(x);
#elif defined(FAIL_COPY)
  const Parent copy = parent;
  return functional(copy, &Parent::forward, state, Tensor(), false, x).result;
#elif defined(FAIL_NO_STATE)
  return functional(parent, &Parent::forward, x).result;
#else
  (void)decoder;
  return functional(parent, &Parent::forward, state, Tensor(), false, x).result;
#endif
}

}  // namespace tenon
