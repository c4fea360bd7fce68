#include "tenon/pjrt/compile_options.h"

#include <gtest/gtest.h>

namespace tenon::pjrt {
namespace {

using namespace std::string_literals;

// Written out by hand from the .proto files: (field << 3 | wire type), then the value.
TEST(CompileOptions, OneDevice) {
  // build options: num_replicas 1, num_partitions 1, device_assignment {1, 1, computation {ids [0]}}
  EXPECT_EQ(serialize({}),
            "\x1a\x0f"
            "\x20\x01"
            "\x28\x01"
            "\x4a\x09\x08\x01\x10\x01\x1a\x03\x0a\x01\x00"s);
}

TEST(CompileOptions, SeveralDevicesUseShardy) {
  CompileOptions options;
  options.num_partitions = 2;
  options.device_ids = {3, 300};
  EXPECT_EQ(serialize(options),
            "\x1a\x1a"
            "\x20\x01"
            "\x28\x02"
            "\x30\x01"
            "\x98\x01\x01"
            "\x4a\x0f\x08\x01\x10\x02\x1a\x03\x0a\x01\x03\x1a\x04\x0a\x02\xac\x02"s);
}

TEST(CompileOptions, FlagsAreOverrides) {
  CompileOptions options;
  options.flags = {{"a", "true"}, {"b", "12"}};
  const std::string bytes = serialize(options);
  EXPECT_EQ(bytes.substr(17),
            "\x3a\x0b\x0a\x01"
            "a\x12\x06\x0a\x04True"
            "\x3a\x09\x0a\x01"
            "b\x12\x04\x0a\x02"
            "12"s);
}

}  // namespace
}  // namespace tenon::pjrt
