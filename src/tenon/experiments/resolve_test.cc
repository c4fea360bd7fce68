#include "tenon/experiments/resolve.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tenon/base/file.h"
#include "tenon/config/config_type.h"
#include "tenon/config/registry.h"
#include "tenon/config/text.h"
#include "tenon/experiments/austen.h"
#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ResolveTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_everything(Registry::global()); }
  ResolveTest() : dir_(std::filesystem::temp_directory_path() / ("tenon_resolve_" + random_suffix())) {
    std::filesystem::create_directory(dir_);
    register_experiments(experiments_);
  }
  ~ResolveTest() override { std::filesystem::remove_all(dir_); }

  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = dir_ / name;
    write_file_atomic(path, text).value();
    return path;
  }
  std::string resolved(const Overrides& overrides) const {
    return "\n" + to_toml(resolve(experiments_.find("austen"), overrides).config);
  }
  std::optional<Error> error(const Overrides& overrides) const {
    return error_of([&] { resolved(overrides); });
  }

  std::filesystem::path dir_;
  ExperimentRegistry experiments_;
};

TEST_F(ResolveTest, OneArgumentReachesEveryPlace) {
  EXPECT_THAT(resolved({{}, {"args.max_steps=80", "args.sequence_length=17", "args.data_path=elsewhere"}}),
              AllOf(HasSubstr("\nmax_steps = 80\n"), HasSubstr("\nlearner.learning_rate.total_steps = 80\n"),
                    HasSubstr("\nlearner.learning_rate.warmup_steps = 4\n"), HasSubstr("\nlog_every_n_steps = 2\n"),
                    HasSubstr("\ndata.sequence_length = 17\n"), HasSubstr("\ndata.path = \"elsewhere\"\n")));
  EXPECT_EQ(resolved({{}, {"args={max_steps = 80}"}}), resolved({{}, {"args.max_steps=80"}}));
}

TEST_F(ResolveTest, NothingOfTheArgumentsIsLeft) {
  const std::string whole = resolved({{}, {"args.max_steps=80"}});
  EXPECT_THAT(whole, Not(HasSubstr("args")));
  for (const char* name : {"args", "base", "mesh_rules", "modifiers"}) {
    EXPECT_EQ(find_field(Trainer::Config::static_type().fields(), name), nullptr) << "the name is taken";
  }
  EXPECT_EQ("\n" + to_toml(*from_toml(whole)), whole);
  EXPECT_EQ(resolved({{file("whole.toml", whole)}, {}}), whole);  // over any arguments
}

TEST_F(ResolveTest, ArgumentsThenFilesThenAssignments) {
  const std::string first = file("first.toml", "max_steps = 7\n[args]\nmax_steps = 100\nmodel_dim = 64\n");
  const std::string second = file("second.toml", "args.max_steps = 200\n");
  // Written first or last, in whatever file: all arguments come before all fields.
  EXPECT_THAT(resolved({{first, second}, {"seed=1", "args.num_heads=8"}}),
              AllOf(HasSubstr("\nmax_steps = 7\n"), HasSubstr("total_steps = 200\n"), HasSubstr("model_dim = 64\n"),
                    HasSubstr("num_heads = 8\n"), HasSubstr("\nseed = 1\n")));
  EXPECT_THAT(resolved({{first, second}, {"max_steps=9", "args.max_steps=300"}}),
              AllOf(HasSubstr("\nmax_steps = 9\n"), HasSubstr("total_steps = 300\n")));
}

TEST_F(ResolveTest, ExperimentsWithTheSameFunctionDifferInArguments) {
  const std::string tiny = arguments_to_toml(experiments_.find("austen_tiny"), {});
  EXPECT_THAT(tiny, AllOf(HasSubstr("args.max_steps = 20 "), HasSubstr("args.data_path = \"data/austen\" ")));
  const Overrides as_tiny{{file("tiny.toml", tiny)}, {}};
  EXPECT_EQ(arguments_to_toml(experiments_.find("austen"), as_tiny), tiny);
  EXPECT_EQ(resolved(as_tiny), "\n" + to_toml(experiments_.find("austen_tiny").make()));
}

TEST_F(ResolveTest, ArgumentsAreListedWithWhatTheyAre) {
  const std::string text = arguments_to_toml(experiments_.find("austen"), {{}, {"args.num_layers=3", "seed=7"}});
  EXPECT_THAT(text, AllOf(HasSubstr("args.num_layers = 3 "), HasSubstr("  # decoder layers\n"), Not(HasSubstr("seed")),
                          HasSubstr("args.type = \"Austen\"\n")));
  for (const Field& field : Austen::fn_type().fields()) EXPECT_NE(field.doc, "") << field.name;
}

TEST_F(ResolveTest, WrongArguments) {
  auto e = error({{}, {"args.max_step=20"}});
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::unknown_name);
  EXPECT_EQ(e->path(), "args");
  EXPECT_THAT(e->hint(), HasSubstr("max_steps"));

  e = error({{}, {"args.max_steps=soon"}});
  EXPECT_EQ(e->code(), ErrorCode::wrong_type);
  EXPECT_EQ(e->path(), "args.max_steps");

  e = error({{}, {"args.max_steps=0"}});
  EXPECT_EQ(e->code(), ErrorCode::invalid_argument);
  EXPECT_EQ(e->path(), "args.max_steps");

  // The argument is named, not what is computed from it, and nothing overflows on the way.
  for (const char* name : {"austen", "llama2_test"}) {
    const auto with = [&](std::vector<std::string> assignments) {
      return error_of([&] { resolve(experiments_.find(name), {.assignments = std::move(assignments)}); });
    };
    for (const char* batch : {"4611686018427387904", "2147483648", "-1"}) {
      e = with({std::string("args.batch_size=") + batch});
      ASSERT_TRUE(e) << batch;
      EXPECT_EQ(e->code(), ErrorCode::invalid_argument);
      EXPECT_EQ(e->path(), "args.batch_size");
    }
    e = with({"args.batch_size=2147483647", "args.sequence_length=1024"});
    EXPECT_THAT(e->what(), AllOf(HasSubstr("at args.batch_size"), HasSubstr("at most 2^40 tokens")));
    EXPECT_EQ(with({"args.sequence_length=2147483648"})->path(), "args.sequence_length");
    EXPECT_EQ(with({"data.batch_size=2147483648"})->path(), "data.batch_size");
    EXPECT_EQ(with({"data.batch_size=1073741824", "data.sequence_length=1024"}), std::nullopt);
  }

  e = error({{file("wrong.toml", "seed = 1\n[args]\nmax_step = 2\n")}, {}});
  EXPECT_EQ(e->code(), ErrorCode::unknown_name);
  EXPECT_THAT(e->what(), HasSubstr("wrong.toml:3"));

  EXPECT_EQ(error({{}, {"args={}"}})->path(), "args");
  EXPECT_EQ(error({{}, {"args.type=ScaledDim"}})->code(), ErrorCode::wrong_type);
  EXPECT_EQ(error({{}, {"args=3"}})->path(), "args");
}

TEST_F(ResolveTest, FieldsThatDontFitTogetherAreNamedWhereTheyAre) {
  const auto e = error_of([&] { Trainer(resolve(experiments_.find("austen"), {{}, {"args.num_heads=3"}}).config); });
  ASSERT_TRUE(e);
  EXPECT_THAT(e->path(), HasSubstr("attention"));
}

}  // namespace
}  // namespace tenon
