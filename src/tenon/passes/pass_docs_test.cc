// docs/passes.md is written from the tables of passes and of rules. After a change of a table, write it again by
// running this test with TENON_UPDATE_GOLDEN=1.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tenon/base/file.h"
#include "tenon/passes/fold_constants.h"
#include "tenon/passes/pipeline.h"
#include "tenon/passes/simplify.h"

namespace tenon {
namespace {

std::string rules_text(std::string_view title, std::span<const SimplifyRule> rules) {
  std::string out = fmt::format("\n### {}\n\n| rule | what becomes what |\n|---|---|\n", title);
  for (const SimplifyRule& rule : rules) out += fmt::format("| `{}` | {} |\n", rule.name, rule.doc);
  return out;
}

std::string passes_document() {
  std::string out =
      "# Graph passes\n\nWritten from the tables by `src/tenon/passes/pass_docs_test.cc`; [adding a "
      "pass](adding_a_pass.md) "
      "says how a row\nis made. Every program goes through these passes, in this order, between its gradients and its "
      "text. "
      "None changes a\nresult of the reference interpreter.\n\n| | pass | what it does |\n|---|---|---|\n";
  size_t number = 0;
  for (const Pass& pass : passes()) out += fmt::format("| {} | `{}` | {} |\n", ++number, pass.name, pass.doc);
  out +=
      "\n## The rules of `simplify`\nThey hold for every input: NaN (but for its sign and payload), infinities, -0.0, "
      "integers that wrap around.\n";
  return out + rules_text("Constants", constant_rules()) + rules_text("Numbers", arithmetic_rules()) +
         rules_text("Places", shape_rules());
}

TEST(PassDocs, ListEveryPassAndRule) {
  const std::string file = std::string(TENON_SOURCE_DIR) + "/docs/passes.md";
  const std::string text = passes_document();
  if (std::getenv("TENON_UPDATE_GOLDEN") != nullptr) write_file_atomic(file, text).value();
  EXPECT_EQ(text, read_file(file).value());
}

TEST(PassDocs, EveryRowHasALine) {
  for (const Pass& pass : passes()) EXPECT_FALSE(pass.name.empty() || pass.doc.empty() || pass.doc.ends_with('.'));
}

// The code in the guide is the code of example_pass_test.cc.
TEST(PassDocs, TheGuideShowsCodeThatCompiles) {
  const std::string root(TENON_SOURCE_DIR);
  const std::string guide = read_file(root + "/docs/adding_a_pass.md").value();
  const std::string code = read_file(root + "/src/tenon/passes/example_pass_test.cc").value();
  size_t blocks = 0;
  for (size_t at = guide.find("```cpp\n"); at != std::string::npos; at = guide.find("```cpp\n", at + 1), ++blocks) {
    const size_t begin = at + 7, end = guide.find("```", begin);
    const std::string block = guide.substr(begin, end - begin);
    EXPECT_NE(code.find(block), std::string::npos) << "not in example_pass_test.cc:\n" << block;
  }
  EXPECT_EQ(blocks, 3);
}

}  // namespace
}  // namespace tenon
