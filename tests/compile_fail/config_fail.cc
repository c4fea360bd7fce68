// What config types refuse at compile time. Without any FAIL_ macro it compiles; with one it must not.
#include "tenon/config/config.h"

namespace tenon {

class FeedForward : public Configurable {
 public:
  struct Config : AnyConfig {
    Required<int64_t> input_dim;
    TENON_FIELDS(input_dim)
  };
};
class Gated : public FeedForward {
 public:
  struct Config : FeedForward::Config {
    int64_t hidden_dim = 4;
    Fn<int64_t(int64_t)> width;
    TENON_CONFIG(hidden_dim, width)
  };
};
class Linear : public Configurable {
 public:
  struct Config : AnyConfig {
    TENON_CONFIG()
  };
};
struct Twice {
  TENON_FN()
  int64_t operator()(int64_t x) const { return 2 * x; }
};
struct Length {
  TENON_FN()
  int64_t operator()(const Linear&) const { return 0; }
};

void fills_a_tree(Slot<FeedForward> slot) {
  slot = Gated::Config{};
  slot->input_dim = 3;
  slot.as<Gated>().width = Twice{};
  slot.as<Gated>().width = 7;
#if defined(FAIL_WRONG_MODULE)
  slot = Linear::Config{};
#elif defined(FAIL_CHILD_INTERNALS)
  slot->hidden_dim = 3;
#elif defined(FAIL_LAMBDA)
  slot.as<Gated>().width = [](int64_t x) { return x; };
#elif defined(FAIL_FUNCTION_POINTER)
  int64_t (*f)(int64_t) = nullptr;
  slot.as<Gated>().width = f;
#elif defined(FAIL_FN_SIGNATURE)
  slot.as<Gated>().width = Length{};
#elif defined(FAIL_FN_NARROWING)
  slot.as<Gated>().width = 2.5;
#elif defined(FAIL_INTERFACE_CONFIG)
  FeedForward::Config config;
#elif defined(FAIL_FIELD_THAT_IS_NOT_THERE)
  slot.as<Gated>().hiden_dim = 3;
#endif
}

}  // namespace tenon
