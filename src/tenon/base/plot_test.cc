#include "tenon/base/plot.h"

#include <gmock/gmock.h>

#include <cmath>

namespace tenon {
namespace {

using testing::HasSubstr;

TEST(Plot, DrawsCurvesWithAxes) {
  const std::vector<Curve> curves = {{"down", {{0, 4}, {10, 0}}}, {"flat", {{0, 2}, {5, NAN}, {10, 2}}}};
  const std::string text = plot_text(curves, {.title = "loss", .width = 11, .height = 5}).value();
  EXPECT_EQ(text,
            "loss\n"
            "         4 |**\n"
            "           |  **\n"
            "           |+   ***   +\n"
            "           |       **\n"
            "         0 |         **\n"
            "           +-----------\n"
            "            0        10\n"
            "          * down\n"
            "          + flat\n");
}

TEST(Plot, LogarithmicAndSingleValues) {
  const std::string text =
      plot_text({{"a", {{1, 1}, {2, 100}, {3, -1}}}}, {.width = 10, .height = 5, .log_y = true}).value();
  EXPECT_THAT(text, HasSubstr("       100 |"));
  EXPECT_THAT(text, HasSubstr("         1 |*"));
  EXPECT_THAT(plot_text({{"a", {{5, 3}}}}, {}).value(), HasSubstr("*"));
}

TEST(Plot, Svg) {
  const std::string svg =
      plot_svg({{"a<b", {{0, 0}, {10, 1}, {20, INFINITY}, {30, 1}}}}, {.title = "x & y", .width = 30, .height = 10})
          .value();
  EXPECT_THAT(svg, HasSubstr("<svg xmlns"));
  EXPECT_THAT(svg, HasSubstr("a&#60;b"));
  EXPECT_THAT(svg, HasSubstr("x &#38; y"));
  // 300 x 200 pixels from (70, 40); the gap ends the line.
  EXPECT_THAT(svg, HasSubstr("points=\"70.00,240.00 170.00,40.00\""));
  EXPECT_THAT(svg, HasSubstr("points=\"370.00,40.00\""));
}

TEST(Plot, SaysWhatItCannotDraw) {
  EXPECT_THAT(plot_text({}, {}).error().what(), HasSubstr("nothing to draw"));
  EXPECT_THAT(plot_text({{"a", {{0, NAN}}}}, {}).error().what(), HasSubstr("nothing to draw"));
  EXPECT_THAT(plot_svg({{"a", {{0, -1}}}}, {.log_y = true}).error().what(), HasSubstr("nothing to draw"));
  EXPECT_THAT(plot_text({{"a", {{0, 1}}}}, {.width = 5}).error().what(), HasSubstr("10 x 4"));
}

}  // namespace
}  // namespace tenon
