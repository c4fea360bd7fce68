#include "tenon/nn/language/chunked_loss.h"

#include <gtest/gtest.h>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {
namespace {

// Runs what a test asks in its own context.
class Caller final : public Module {
 public:
  struct Config : Module::Config {
    TENON_CONFIG()
  };
  explicit Caller(const Config& c) : Module(c) {}
  template <class F>
  Tensor act(const F& f) const {
    return f();
  }
};
TENON_MODULE(Caller, Module, "for tests")

// A loss that can't be made leaves the caller as it was: what it collects then arrives.
TEST(ChunkedLoss, AnErrorInAPieceLeavesTheContext) {
  const Caller caller{Caller::Config{}};
  const Values got = evaluate(Values(), {{"x", Literal::from(DType::f32, {1, 4}, std::vector<double>{1, 2, 3, 4})}},
                              [&](const Nest&, const Nest& in) {
                                const Tensor& x = in.at("x");
                                const auto run = [&] {
                                  const auto error = error_of([&] {
                                    chunked_loss({x}, 2, [](const std::vector<Tensor>& piece) -> LossSum {
                                      summary("lost", piece[0]);
                                      throw Error(ErrorCode::unsupported, "a loss that can't be made");
                                    });
                                  });
                                  EXPECT_EQ(error->code(), ErrorCode::unsupported);
                                  summary("kept", x);
                                  return chunked_loss({x}, 2,
                                                      [](const std::vector<Tensor>& piece) {
                                                        const Tensor sum = reduce_sum(piece[0], {0, 1});
                                                        summary("most", sum, Merge::max);
                                                        return LossSum{sum, full_like(sum, 2)};
                                                      })
                                      .sum;
                                };
                                const auto [sum, collected] =
                                    functional(caller, &Caller::act<decltype(run)>, Nest(), Tensor(), true, run);
                                Nest out = flatten_collected(collected);
                                out.emplace("sum", sum);
                                return out;
                              });
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got.at("sum").as_double(0), 10);
  EXPECT_EQ(got.at("summaries.kept").as_double(3), 4);
  EXPECT_EQ(got.at("summaries.most").as_double(0), 7);
}

}  // namespace
}  // namespace tenon
