#include "tenon/trainer/chips.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "tenon/runtime/aot.h"
#include "tenon/runtime/gpu_targets.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

constexpr double kGib = 1073741824.0;

TEST(Chips, AreReadFromText) {
  const std::string rest = "bf16_tflops = 2.5\nbf16_source = \"z\"\n";
  const ChipTable table = ChipTable::parse("[b]\nmemory_gib = 1.5\nsource = \"x\"\ndevice_kind = \"B 1\"\n" + rest +
                                               "[a]\nsource = \"y\"\nmemory_gib = 2.0\ndevice_kind = \"A\"\n" + rest,
                                           "f")
                              .value();
  EXPECT_EQ(table.find_device("B 1"), &table.find("b"));
  EXPECT_EQ(table.find_device("B 1")->peak_flops, 2.5e12);
  EXPECT_EQ(table.find_device("B"), nullptr);
  EXPECT_EQ(ChipTable::builtin().find_device("cpu"), nullptr);
  ASSERT_EQ(table.chips().size(), 2U);
  EXPECT_EQ(table.find("b").memory_bytes, 3LL << 29);
  EXPECT_EQ(table.find("b").source, "x");
  EXPECT_EQ(table.find("a").memory_bytes, 2LL << 30);
}

TEST(Chips, WrongTextSaysWhere) {
  const auto expect_error = [](const char* text, ErrorCode code, const char* place) {
    const Result<ChipTable> table = ChipTable::parse(text, "f.toml");
    ASSERT_FALSE(table.ok()) << text;
    EXPECT_EQ(table.error().code(), code) << table.error().what();
    EXPECT_EQ(table.error().path(), place) << table.error().what();
  };
  expect_error("[a", ErrorCode::invalid_argument, "f.toml:1");
  expect_error("a = 3", ErrorCode::wrong_type, "f.toml:1");
  expect_error("[a]\nmemory_gib = 3\nsource = \"x\"", ErrorCode::wrong_type, "f.toml:2");
  expect_error("[a]\nmemory_gib = \"3.0\"\nsource = \"x\"", ErrorCode::wrong_type, "f.toml:2");
  expect_error("[a]\nmemory_gib = 0.0\nsource = \"x\"", ErrorCode::invalid_argument, "f.toml:2");
  expect_error("[a]\nmemory_gib = -1.0\nsource = \"x\"", ErrorCode::invalid_argument, "f.toml:2");
  expect_error("[a]\nmemory_gib = nan\nsource = \"x\"", ErrorCode::invalid_argument, "f.toml:2");
  expect_error("[a]\nmemory_gib = 1e30\nsource = \"x\"", ErrorCode::invalid_argument, "f.toml:2");
  expect_error("[a]\nmemory_gib = 1.0\nsource = \"x\"\nmemroy = 3", ErrorCode::unknown_name, "f.toml:4");
  expect_error("[a]\nmemory_gib = 1.0", ErrorCode::missing_field, "f.toml:1");
  expect_error("[a]\nmemory_gib = 1.0\nsource = \"x\"", ErrorCode::missing_field, "f.toml:1");
  expect_error("[a]\nbf16_tflops = -1.0", ErrorCode::invalid_argument, "f.toml:2");
  expect_error("[a]\nsource = \"x\"", ErrorCode::missing_field, "f.toml:1");
}

TEST(Chips, UnknownOnesGetTheList) {
  try {
    ChipTable::builtin().find("v5q");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unknown_name);
    EXPECT_THAT(e.what(), HasSubstr("h100, h200, "));
    EXPECT_THAT(e.hint(), HasSubstr("v5p"));
  }
}

// Every chip can be a target, and every GPU that can be described is in the table with the memory it is described with.
TEST(Chips, AreThoseThatCanBeTargets) {
  for (const Chip& chip : ChipTable::builtin().chips()) {
    const bool gpu = AotTarget::parse(chip.name + (chip.name[0] == 'h' ? ":1" : ":2x2x1")).platform == "cuda";
    EXPECT_EQ(gpu, chip.name[0] == 'h') << chip.name;
  }
  for (const std::string& kind : gpu_kinds()) {
    const std::string text = gpu_target_config(kind);
    const size_t at = text.find("device_memory_size: ");
    ASSERT_NE(at, std::string::npos);
    const double described = std::stod(text.substr(at + 20));
    EXPECT_NEAR(static_cast<double>(ChipTable::builtin().find(kind).memory_bytes) / kGib, described / kGib, 0.005)
        << kind;
  }
}

}  // namespace
}  // namespace tenon
