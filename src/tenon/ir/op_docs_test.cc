// docs/ops.md is written from the op table. After a change of the table, write it again by running this test with
// TENON_UPDATE_GOLDEN=1.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <regex>

#include "tenon/base/file.h"
#include "tenon/ir/cases/op_cases.h"
#include "tenon/ir/ops/families.h"
#include "tenon/ir/testing/hlo_text.h"

namespace tenon {
namespace {

// The StableHLO ops that a case is printed as, in order, each once.
std::string printed_ops(const OpCase& c) {
  const std::string text = hlo_text(graph_of(c), c.mesh.num_devices() > 1 ? &c.mesh : nullptr);
  static const std::regex kOp(R"re((?:^|\n) *(?:%[\w:]+ = )?"?((?:stablehlo|chlo|sdy)\.\w+))re");
  std::string out;
  for (std::sregex_iterator it(text.begin(), text.end(), kOp), end; it != end; ++it) {
    const std::string name = fmt::format("`{}`", (*it)[1].str());
    const bool plumbing = name.ends_with(".return`") || out.find(name) != std::string::npos;
    if (!plumbing) out += (out.empty() ? "" : " ") + name;
  }
  return out.empty() ? "nothing" : out;
}

bool gives_floats(const OpCase& c) {
  const Graph graph = graph_of(c);
  bool any = false;
  for (const TensorType& t : graph.result_types()) any = any || is_float(t.dtype);
  return any;
}

std::string gradient_text(const OpDef& def, const OpCase& c) {
  if (def.name == "stop_gradient") return "zero";
  if (def.vjp != nullptr) return "yes";
  if (def.vjp_note == "structural") return "yes, of its regions";
  if (!def.vjp_note.empty()) return fmt::format("no: {}", def.vjp_note);
  return gives_floats(c) && !c.inputs.empty() ? "no" : "none to have";
}

std::string ops_document() {
  std::map<std::string_view, const OpCase*> first;
  for (const OpCase& c : op_cases()) first.try_emplace(c.op, &c);
  std::string out = fmt::format(
      "# Ops\n\nWritten from the op table by `src/tenon/ir/op_docs_test.cc`; [adding an op](adding_an_op.md) says how "
      "a "
      "row\nis made. What each op means, its types and its errors stand beside its function in the header named. What\n"
      "the backward pass needs of an op is saved or done again, whichever is cheaper ([how](remat.md)); of a \"dear\" "
      "op\nit is saved.\n\n{} ops.\n",
      op_table().size());
  for (const OpFamily& family : op_families()) {
    out += fmt::format("\n## {}\nFunctions in `tenon/ir/ops/{}`, rows in `src/tenon/ir/ops/{}`.\n\n", family.title,
                       family.header, family.source);
    out += "| op | gradient | done again | a case is printed as |\n|---|---|---|---|\n";
    for (const OpDef* def : family.defs) {
      const OpCase& c = *first.at(def->name);
      out += fmt::format("| `{}` | {} | {} | {} |\n", def->name, gradient_text(*def, c),
                         def->recompute == Recompute::cheap ? "by its cost" : "dear", printed_ops(c));
    }
  }
  return out;
}

TEST(OpDocs, ListEveryOp) {
  const std::string file = std::string(TENON_SOURCE_DIR) + "/docs/ops.md";
  const std::string text = ops_document();
  if (std::getenv("TENON_UPDATE_GOLDEN") != nullptr) write_file_atomic(file, text).value();
  EXPECT_EQ(text, read_file(file).value());
}

// The code in the guide is the code of example_op_test.cc.
TEST(OpDocs, TheGuideShowsCodeThatCompiles) {
  const std::string root(TENON_SOURCE_DIR);
  const std::string guide = read_file(root + "/docs/adding_an_op.md").value();
  const std::string code = read_file(root + "/src/tenon/ir/example_op_test.cc").value();
  size_t blocks = 0;
  for (size_t at = guide.find("```cpp\n"); at != std::string::npos; at = guide.find("```cpp\n", at + 1), ++blocks) {
    const size_t begin = at + 7, end = guide.find("```", begin);
    const std::string block = guide.substr(begin, end - begin);
    EXPECT_NE(code.find(block), std::string::npos) << "not in example_op_test.cc:\n" << block;
  }
  EXPECT_EQ(blocks, 3);
}

}  // namespace
}  // namespace tenon
