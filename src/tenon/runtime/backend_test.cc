#include "tenon/runtime/backend.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

TEST(Backend, IsOfThePlatformThatWasAskedFor) {
  const std::string cpu = pjrt::find_plugin("cpu").value();
  setenv("TENON_PLUGIN_PATH", cpu.c_str(), 1);
  const auto error = error_of([] { Backend::open("cuda"); });
  unsetenv("TENON_PLUGIN_PATH");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::plugin);
  EXPECT_EQ(error->path(), cpu);
  EXPECT_THAT(error->what(), HasSubstr("the plugin is for another platform (got cpu, expected cuda)"));
}

}  // namespace
}  // namespace tenon
