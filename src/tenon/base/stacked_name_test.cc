#include "tenon/base/stacked_name.h"

#include <gtest/gtest.h>

#include "tenon/base/error.h"

namespace tenon {
namespace {

using Names = std::vector<std::string>;

TEST(StackedName, NamesEachLayer) {
  EXPECT_EQ(layer_names("m.decoder.layers.1::3.norm.scale", 3),
            (Names{"m.decoder.layers.1.norm.scale", "m.decoder.layers.4.norm.scale", "m.decoder.layers.7.norm.scale"}));
  EXPECT_EQ(layer_names("0::1", 2), (Names{"0", "1"}));
}

TEST(StackedName, LeavesOthersAsTheyAre) { EXPECT_EQ(layer_names("a.0::1.b", 0), (Names{"a.0::1.b"})); }

TEST(StackedName, NeedsItsPlace) {
  EXPECT_THROW(layer_names("a.b", 2), Error);
  EXPECT_THROW(layer_names("a.x::y.b", 2), Error);
}

}  // namespace
}  // namespace tenon
