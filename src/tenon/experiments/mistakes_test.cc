// The messages in mistakes.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tenon/base/file.h"
#include "tenon/base/text.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/resolve.h"
#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

class MistakesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_everything(Registry::global()); }
  MistakesTest() : dir_(fs::temp_directory_path() / ("tenon_mistakes_" + random_suffix())) {
    fs::create_directory(dir_);
    register_experiments(experiments_);
  }
  ~MistakesTest() override { fs::remove_all(dir_); }

  // What the user is told, with files named relative to the folder they are in.
  std::string message(const std::string& mistake) const {
    const size_t space = mistake.find(' ');
    const std::string kind = mistake.substr(0, space), given = mistake.substr(space + 1);
    const auto error = error_of([&] { run(kind, given); });
    if (!error) return "(nothing)";
    std::string text = error->what();
    const std::string folder = dir_.string() + "/";
    for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) text.erase(at, folder.size());
    return text;
  }

  void run(const std::string& kind, const std::string& given) const {
    Overrides overrides;
    std::string name = "llama2_test";
    if (kind == "set") overrides.assignments = {given};
    if (kind == "modify") overrides.modifiers = {given};
    if (kind == "name") name = given;
    if (kind == "file") {
      std::string text = given;
      std::replace(text.begin(), text.end(), '|', '\n');
      overrides.files = {dir_ / "mistake.toml"};
      write_file_atomic(overrides.files[0], text).value();
    }
    resolve(find_experiment(experiments_, name, overrides), overrides);
  }

  fs::path dir_;
  ExperimentRegistry experiments_;
};

TEST_F(MistakesTest, AreToldAsWritten) {
  const std::string file = std::string(TENON_SOURCE_DIR) + "/src/tenon/experiments/mistakes.txt";
  const std::vector<std::string> lines = split(read_file(file).value(), '\n');
  std::string now;
  int64_t count = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.starts_with("  ") || (line.empty() && i + 1 == lines.size())) continue;
    now += line + "\n";
    if (line.empty() || line.starts_with("#")) continue;
    const std::string told = "  " + message(line);
    EXPECT_NE(told, "  (nothing)") << line;
    if (std::getenv("TENON_UPDATE_GOLDEN") == nullptr) {
      EXPECT_EQ(i + 1 < lines.size() ? lines[i + 1] : "", told) << line;
    }
    now += told + "\n";
    ++count;
  }
  EXPECT_GE(count, 60);
  if (std::getenv("TENON_UPDATE_GOLDEN") != nullptr) write_file_atomic(file, now).value();
}

}  // namespace
}  // namespace tenon
