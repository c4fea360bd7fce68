// The table in docs/kernels.md is written from the platforms' lists. After a change of one, write it again by running
// this test with TENON_UPDATE_GOLDEN=1.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tenon/base/file.h"
#include "tenon/kernels/kernels.h"

namespace tenon {
namespace {

constexpr std::string_view kHead = "| kernel | platform | implementation | takes |\n|---|---|---|---|\n";

// A line for each implementation, with the kernels it has in common.
std::string table() {
  std::string out(kHead);
  for (const char* platform : {"cpu", "cuda", "tpu"}) {
    std::vector<std::pair<const KernelImplementation*, std::string>> rows;
    const KernelList list = kernels_for(platform);
    for (const KernelImplementation& k : list) {
      if (rows.empty() || rows.back().first->name != k.name) rows.emplace_back(&k, "");
      rows.back().second += fmt::format("{}`{}`", rows.back().second.empty() ? "" : ", ", k.kernel);
    }
    for (const auto& [k, ops] : rows) out += fmt::format("| {} | {} | `{}` | {} |\n", ops, platform, k->name, k->takes);
  }
  return out;
}

TEST(KernelDocs, ListEveryImplementation) {
  const std::string file = std::string(TENON_SOURCE_DIR) + "/docs/kernels.md";
  const std::string text = read_file(file).value();
  const size_t begin = text.find(kHead);
  ASSERT_NE(begin, std::string::npos);
  const size_t end = text.find("\n\n", begin) + 1;
  const std::string want = text.substr(0, begin) + table() + text.substr(end);
  if (std::getenv("TENON_UPDATE_GOLDEN") != nullptr) write_file_atomic(file, want).value();
  EXPECT_EQ(read_file(file).value(), want);
}

TEST(KernelDocs, EveryImplementationSaysWhatItTakes) {
  for (const char* platform : {"cpu", "cuda", "tpu"}) {
    for (const KernelImplementation& k : kernels_for(platform)) EXPECT_FALSE(k.takes.empty()) << k.name;
  }
}

}  // namespace
}  // namespace tenon
