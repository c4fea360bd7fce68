#include "tenon/runtime/backend.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <functional>
#include <optional>

#include "tenon/ir/testing/errors.h"
#include "tenon/runtime/aot.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

// The CPU's plugin in the place of another.
std::optional<Error> error_with_cpu(const std::function<void()>& open) {
  setenv("TENON_PLUGIN_PATH", pjrt::find_plugin("cpu").value().c_str(), 1);
  const std::optional<Error> error = error_of(open);
  unsetenv("TENON_PLUGIN_PATH");
  return error;
}

TEST(Backend, IsOfThePlatformThatWasAskedFor) {
  const std::string cpu = pjrt::find_plugin("cpu").value();
  const auto error = error_with_cpu([] { Backend::open("cuda"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::plugin);
  EXPECT_EQ(error->path(), cpu);
  EXPECT_THAT(error->what(), HasSubstr("the plugin is for another platform (got cpu, expected cuda)"));
  EXPECT_THAT(error->hint(), HasSubstr("TENON_PLUGIN_PATH names it: set it to a plugin for cuda"));
}

TEST(Backend, APluginThatDescribesNoMachinesIsPerhapsAnothers) {
  const auto error = error_with_cpu([] { AotMachine::open(AotTarget::parse("h100:1")); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_THAT(error->what(), HasSubstr("for CPU"));
  EXPECT_EQ(error->hint(), "the plugin is perhaps none for cuda");
}

}  // namespace
}  // namespace tenon
