#include "tenon/runtime/chips.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "tenon/runtime/aot.h"
#include "tenon/runtime/gpu_targets.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kGib = 1073741824.0;

// A whole row; `other` in place of the line that begins with the same key.
std::string row(const std::string& name, const std::string& other = "") {
  std::string out = "[" + name + "]\n";
  const std::string key = other.substr(0, other.find(' '));
  for (const char* line :
       {"platform = \"cuda\"", "device_kind = \"B 1\"", "memory_gib = 1.5", "memory_source = \"m\"",
        "memory_gb_s = 2.0", "bandwidth_source = \"b\"", "tflops = { bf16 = 2.5, f32 = 0.5 }", "tflops_source = \"t\"",
        "link_gb_s = 3.0", "link_source = \"l\"", "host_devices = 8", "network_gb_s = 4.0", "network_source = \"n\""}) {
    const std::string text(line);
    out += (text.substr(0, text.find(' ')) == key ? other : text) + "\n";
  }
  return out;
}

TEST(Chips, AreReadFromText) {
  const ChipTable table = ChipTable::parse(row("b") + row("a", "device_kind = \"A\""), "f").value();
  ASSERT_EQ(table.chips().size(), 2U);
  const Chip& b = table.find("b");
  EXPECT_EQ(table.find_device("B 1"), &b);
  EXPECT_EQ(table.find_device("B"), nullptr);
  EXPECT_EQ(table.find_device(""), nullptr);
  EXPECT_EQ(ChipTable::builtin().find_device("cpu"), nullptr);
  EXPECT_EQ(b.platform, "cuda");
  EXPECT_EQ(b.memory_bytes, 3LL << 29);
  EXPECT_EQ(b.memory_speed, 2e9);
  EXPECT_EQ(b.peak_flops(), 2.5e12);
  EXPECT_EQ(b.peak(DType::f32), 0.5e12);
  EXPECT_EQ(b.peak(DType::i8), 2.5e12);  // as bf16
  EXPECT_EQ(b.link_speed, 3e9);
  EXPECT_EQ(b.host_devices, 8);
  EXPECT_EQ(b.network_speed, 4e9);
  EXPECT_EQ(b.devices_per_chip, 1);
  EXPECT_EQ(b.slice_chips, 0);
  EXPECT_THAT(
      (std::vector<std::string>{b.memory_source, b.bandwidth_source, b.peak_source, b.link_source, b.network_source}),
      ElementsAre("m", "b", "t", "l", "n"));
}

TEST(Chips, OthersReplaceThoseOfTheirName) {
  const ChipTable first = ChipTable::parse(row("b") + row("a"), "f").value();
  const ChipTable both = first.with(ChipTable::parse(row("b", "memory_gib = 7.0") + row("c"), "f").value());
  ASSERT_EQ(both.chips().size(), 3U);
  EXPECT_EQ(both.find("b").memory_bytes, 7LL << 30);
  EXPECT_EQ(both.find("a").memory_bytes, 3LL << 29);
}

TEST(Chips, WrongTextSaysWhere) {
  const auto expect_error = [](const std::string& text, ErrorCode code, const char* place) {
    const Result<ChipTable> table = ChipTable::parse(text, "f.toml");
    ASSERT_FALSE(table.ok()) << text;
    EXPECT_EQ(table.error().code(), code) << table.error().what();
    EXPECT_EQ(table.error().path(), place) << table.error().what();
  };
  expect_error("[a", ErrorCode::invalid_argument, "f.toml:1");
  expect_error("a = 3", ErrorCode::wrong_type, "f.toml:1");
  for (const char* name : {"cpu", "\"\"", "\"a:4\"", "\"a-b\""}) {
    expect_error(row(name), ErrorCode::invalid_argument, "f.toml:1");
  }
  expect_error(row("a", "memory_gib = 3"), ErrorCode::wrong_type, "f.toml:4");
  expect_error(row("a", "memory_gib = \"3.0\""), ErrorCode::wrong_type, "f.toml:4");
  for (const char* bad : {"0.0", "-1.0", "nan", "inf", "1e30"}) {
    expect_error(row("a", std::string("memory_gib = ") + bad), ErrorCode::invalid_argument, "f.toml:4");
    expect_error(row("a", std::string("memory_gb_s = ") + bad), ErrorCode::invalid_argument, "f.toml:6");
    expect_error(row("a", std::string("tflops = { bf16 = ") + bad + " }"), ErrorCode::invalid_argument, "f.toml:8");
  }
  expect_error(row("a", "tflops = { bf17 = 1.0 }"), ErrorCode::unknown_name, "f.toml:8");
  expect_error(row("a", "tflops = { f32 = 1.0 }"), ErrorCode::missing_field, "f.toml:8");
  expect_error(row("a", "platform = \"abacus\""), ErrorCode::unknown_name, "f.toml:2");
  expect_error(row("a", "host_devices = -1"), ErrorCode::invalid_argument, "f.toml:12");
  expect_error(row("a") + "devices_per_chip = 0\n", ErrorCode::invalid_argument, "f.toml:15");
  expect_error(row("a") + "slice_chips = 0\n", ErrorCode::invalid_argument, "f.toml:15");
  expect_error(row("a") + "memroy = 3\n", ErrorCode::unknown_name, "f.toml:15");
  expect_error("[a]\nmemory_gib = 1.0", ErrorCode::missing_field, "f.toml:1");
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

TEST(Chips, AreThoseOfThePaperAndMore) {
  std::set<std::string> names;
  for (const Chip& chip : ChipTable::builtin().chips()) names.insert(chip.name);
  for (const char* name : {"h100", "h200", "a100", "b200", "mi300x", "v4", "v5e", "v5p", "v6e", "tpu7x", "trn2"}) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
  // From a data sheet each, and its arithmetic intensity in FLOPs a byte, by hand.
  const Chip& h100 = ChipTable::builtin().find("h100");
  EXPECT_NEAR(h100.peak_flops() / h100.memory_speed, 295.3, 0.1);
  const Chip& v5p = ChipTable::builtin().find("v5p");
  EXPECT_NEAR(v5p.peak_flops() / v5p.memory_speed, 166.0, 0.1);
}

// Every chip can be a target, and every GPU that can be described is in the table with the memory it is described with.
TEST(Chips, AreThoseThatCanBeTargets) {
  for (const Chip& chip : ChipTable::builtin().chips()) {
    const AotTarget target = AotTarget::parse(chip.name + (chip.platform == "tpu" ? ":2x2x1" : ":1x4"));
    EXPECT_EQ(target.platform, chip.platform) << chip.name;
    EXPECT_EQ(target.name, chip.name);
  }
  for (const std::string& kind : gpu_kinds()) {
    const std::string text = gpu_target_config(kind);
    const size_t at = text.find("device_memory_size: ");
    ASSERT_NE(at, std::string::npos);
    const double described = std::stod(text.substr(at + 20));
    EXPECT_NEAR(static_cast<double>(ChipTable::builtin().find(kind).memory_bytes) / kGib, described / kGib, 0.01)
        << kind;
  }
}

}  // namespace
}  // namespace tenon
