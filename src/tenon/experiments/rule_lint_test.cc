#include "tenon/experiments/rule_lint.h"

#include <gmock/gmock.h>

#include "tenon/base/json.h"
#include "tenon/config/registry.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/dot/quantized_dot.h"
#include "tenon/nn/modifiers.h"
#include "tenon/trainer/modifiers.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Of an experiment with a batch of 8.
class RuleLintTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_everything(Registry::global()); }
  RuleLintTest() { register_experiments(experiments_); }

  static MeshRule rule(std::string instance, std::vector<Modifier> modifiers = {}) {
    return {.instance = std::move(instance), .modifiers = std::move(modifiers)};
  }
  RuleReport lint(std::vector<MeshRule> rules, bool strict = false) {
    planted_ = experiments_.find("llama2_test");
    planted_.mesh_rules = std::move(rules);
    return lint_rules({subject()}, {.machines = kMachines, .strict = strict});
  }
  RuleSubject subject() const { return {"planted", &planted_}; }
  // "fault of rule N", for each.
  static std::vector<std::string> faults(const RuleReport& report) {
    std::vector<std::string> out;
    for (const RuleFinding& f : report.findings) {
      out.push_back(std::string(to_string(f.fault)) + (f.rule < 0 ? "" : " " + std::to_string(f.rule)));
    }
    return out;
  }

  const std::vector<MachineType> kMachines = {{"bead-2", "bead", 2},
                                              {"bead-4", "bead", 4},
                                              {"bead-16", "bead", 16},
                                              {"rod-4", "rod", 4},
                                              {"best", "rod", 8, true}};
  ExperimentRegistry experiments_;
  Experiment planted_;
};

TEST_F(RuleLintTest, GoodRulesHaveNoFaults) {
  const RuleReport report = lint({rule("bead-(2|4)", {SetMesh{{.data = 1, .fsdp = -1}}}),
                                  rule("bead-16", {SetMesh{{.data = -1, .model = 2}}}), rule(".*")});
  EXPECT_THAT(faults(report), IsEmpty());
  ASSERT_EQ(report.coverage.size(), 1u);
  EXPECT_THAT(report.coverage[0].uncovered, IsEmpty());
}

TEST_F(RuleLintTest, RulesBehindOthersAreShadowed) {
  const RuleReport report =
      lint({rule("bead-2"), rule("bead-4"), rule("bead-(2|4)"), rule("rod-[0-9]+"), rule("rod-4")});
  ASSERT_THAT(faults(report), ElementsAre("shadowed 2", "shadowed 4"));
  EXPECT_EQ(report.findings[0].message, "all 2 types of machines that it matches are taken by rules 0, 1 before it");
  EXPECT_EQ(report.findings[1].message, "all 1 types of machines that it matches are taken by rule 3 before it");
  EXPECT_EQ(report.findings[0].instance, "bead-(2|4)");
}

TEST_F(RuleLintTest, RulesForNoMachineAreFound) {
  EXPECT_THAT(faults(lint({rule("abacus-.*"), rule("bead")})), ElementsAre("unreached 0", "unreached 1"));
}

TEST_F(RuleLintTest, MeshesMustHaveTheDevices) {
  const RuleReport report =
      lint({rule("bead-.*", {SetMesh{{.data = -1, .fsdp = 4}}}), rule("rod-4", {SetMesh{{.data = 3}}})});
  ASSERT_THAT(faults(report), ElementsAre("misfit 0", "misfit 1"));
  EXPECT_THAT(report.findings[0].message,
              AllOf(HasSubstr("on bead-2 (2 devices): mesh_mismatch"), HasSubstr("; and on 1 more types")))
      << "and 16 devices for 8 examples";
  EXPECT_THAT(report.findings[1].message, AllOf(HasSubstr("on rod-4"), Not(HasSubstr("more types"))));
}

TEST_F(RuleLintTest, BatchesMustDivide) {
  const RuleReport report = lint({rule("bead-4", {AccumulateGradients{4}})});
  ASSERT_THAT(faults(report), ElementsAre("misfit 0"));
  EXPECT_THAT(report.findings[0].message,
              HasSubstr("the batch of 8 doesn't divide into 16 pieces (4 over the mesh, 4 microbatches)"));
}

TEST_F(RuleLintTest, ModifiersMustMatch) {
  const RuleReport report = lint({
      rule("bead-2", {SetPartitions{{{"model.**.wieght_partition", {}}}}}),
      rule("bead-4", {SetRemat{"TransformerLayer", SaveTags{{"q_porj"}, {}}}}),
      rule("rod-4", {SetRemat{"TransformerLayer", SaveRules{{{.path = "decoder.stack", .save = Save::device}}}}}),
      rule("best", {UseDot{Int8Dot::Config{}, "model.encoder"}}),
  });
  ASSERT_THAT(faults(report), ElementsAre("fails 0", "fails 1", "fails 2", "fails 3"));
  EXPECT_THAT(report.findings[0].message, HasSubstr("wieght_partition"));
  EXPECT_THAT(report.findings[1].message,
              AllOf(HasSubstr("on bead-4: "), HasSubstr("tag \"q_porj\""), HasSubstr("q_proj")));
  EXPECT_THAT(report.findings[2].message, HasSubstr("path \"decoder.stack\""));
}

// Heads are found not to divide only when the step is traced.
TEST_F(RuleLintTest, TracingIsOptional) {
  planted_ = experiments_.find("llama2_test");
  planted_.mesh_rules = {rule("bead-4", {SetRemat{"TransformerLayer", SaveTags{{"q_porj"}, {}}}})};
  EXPECT_THAT(faults(lint_rules({subject()}, {.machines = kMachines, .trace = false})), IsEmpty());
}

TEST_F(RuleLintTest, MachinesWithoutARuleAreFaultsWhenStrict) {
  const std::vector<MeshRule> rules = {rule("bead-(2|4)")};
  const RuleReport report = lint(rules);
  EXPECT_THAT(faults(report), IsEmpty());
  ASSERT_EQ(report.coverage.size(), 1u);
  EXPECT_THAT(report.coverage[0].uncovered, ElementsAre("bead-16", "rod-4")) << "not what is a choice";
  EXPECT_EQ(report.coverage[0].chips.at("bead").covered, 2);
  EXPECT_EQ(report.coverage[0].chips.at("bead").machines, 3);
  EXPECT_EQ(report.coverage[0].chips.at("rod").covered, 0);
  EXPECT_THAT(faults(lint(rules, true)), ElementsAre("uncovered", "uncovered"));
  EXPECT_THAT(faults(lint({}, true)), IsEmpty()) << "an experiment without rules misses none";
}

TEST_F(RuleLintTest, IsToldInText) {
  const std::string text = to_string(lint({rule("bead-(2|4)"), rule("bead-2")}, true));
  EXPECT_EQ(
      text,
      "planted: bead-16: uncovered: no rule is for it\n"
      "planted: rod-4: uncovered: no rule is for it\n"
      "planted: rule 1, \"bead-2\": shadowed: all 1 types of machines that it matches are taken by rule 0 before it\n"
      "types of machines that no rule is for:\n"
      "  bead-16: planted\n"
      "  rod-4: planted\n"
      "types of machines with a rule, of those there are:\n"
      "            bead      rod\n"
      "planted      2/3        -\n"
      "1 experiment, 1 with rules; 5 types of machines; 3 faults\n");
}

TEST_F(RuleLintTest, IsToldInJson) {
  const Json json = Json::parse(rules_json(lint({rule("bead-2"), rule("bead-2")}, true))).value();
  EXPECT_EQ(json.whole_number("experiments", 9), 1u);
  EXPECT_EQ(json.whole_number("machines", 9), 5u);
  const Json::List& findings = json.list("findings");
  ASSERT_EQ(findings.size(), 4u);
  EXPECT_EQ(findings[3].string("fault"), "shadowed");
  EXPECT_EQ(findings[3].whole_number("rule", 9), 1u);
  EXPECT_EQ(findings[3].string("instance"), "bead-2");
  EXPECT_EQ(findings[0].string("fault"), "uncovered");
  EXPECT_NE(findings[0].member("rule").as<std::monostate>(), nullptr);
  const Json& planted = json.member("coverage").member("planted");
  EXPECT_EQ(planted.member("chips").member("bead").whole_number("covered", 9), 1u);
  EXPECT_EQ(planted.list("uncovered").size(), 3u);
}

TEST_F(RuleLintTest, ListsWhichRuleIsForWhat) {
  lint({rule("bead-4", {SetMesh{{.data = -1, .model = 2}}, AccumulateGradients{2}}), rule("bead-.*"), rule("rod-4")});
  EXPECT_EQ(list_rules(subject(), kMachines),
            "bead-2   rule 1: mesh data=2, 1 microbatch\n"
            "bead-4   rule 0: mesh data=2,model=2, 2 microbatches\n"
            "bead-16  rule 1: the batch of 8 doesn't divide into 16 pieces (16 over the mesh, 1 microbatches)\n"
            "rod-4    rule 2: mesh data=4, 1 microbatch\n");
}

// Of all what can be told without tracing, and a few traced.
TEST_F(RuleLintTest, ShippedRulesHaveNoFaults) {
  std::vector<RuleSubject> all, traced;
  for (const Experiment* e : experiments_.all()) all.push_back({e->name, e});
  for (const char* name : {"llama2_7b", "llama3_405b", "llama_134m"}) {
    traced.push_back({name, &experiments_.find(name)});
  }
  for (const RuleFinding& f : lint_rules(all, {.trace = false}).findings) {
    ADD_FAILURE() << f.experiment << " rule " << f.rule << " " << f.instance << ": " << f.message;
  }
  const RuleReport report = lint_rules(traced);
  EXPECT_EQ(report.coverage.size(), 3u);
  for (const RuleFinding& f : report.findings) {
    ADD_FAILURE() << f.experiment << " rule " << f.rule << " " << f.instance << ": " << f.message;
  }
}

TEST_F(RuleLintTest, SlowShippedRulesTrace) {
  std::vector<RuleSubject> all;
  for (const Experiment* e : experiments_.all()) all.push_back({e->name, e});
  EXPECT_THAT(to_string(lint_rules(all)), HasSubstr("; 0 faults\n"));
}

}  // namespace
}  // namespace tenon
