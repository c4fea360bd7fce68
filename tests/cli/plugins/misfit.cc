// A module with a mistake: its second layer is made for one number more than the first one gives.
#include "tenon/base/plugin_library.h"
#include "tenon/config/define.h"
#include "tenon/config/registry.h"
#include "tenon/nn/basic/feed_forward.h"

namespace example {

auto dims(int64_t in, int64_t out) {
  return [=](tenon::Linear::Config& l) {
    l.input_dim = in;
    l.output_dim = out;
  };
}

class MisfitFeedForward final : public tenon::FeedForward {
 public:
  struct Config : tenon::FeedForward::Config {
    tenon::Slot<tenon::Linear> linear;
    Config() : linear(tenon::Linear::Config{}) {}
    TENON_CONFIG(linear)
  };
  explicit MisfitFeedForward(const Config& c)
      : tenon::FeedForward(c),
        up_(this, "up", c.linear, dims(c.input_dim, 48)),
        down_(this, "down", c.linear, dims(49, c.input_dim)) {}

  tenon::Tensor forward(const tenon::Tensor& x) const override { return down_(up_(x)); }

 private:
  tenon::Child<tenon::Linear> up_, down_;
};

TENON_MODULE(MisfitFeedForward, tenon::FeedForward, "fits nowhere")

}  // namespace example

TENON_PLUGIN_ABI

extern "C" void tenon_plugin(tenon::Registry& registry) { registry.add<example::MisfitFeedForward>(); }
