#include "tenon/trainer/split_step.h"

#include "tenon/data/language_dataset.h"
#include "tenon/nn/testing/evaluate.h"
#include "tenon/trainer/test_run.h"

namespace tenon {
namespace {

constexpr int64_t kRows = 8, kLength = 16;

// Steps of the tiny model by one program and by two.
class SplitStepTest : public RunTest {
 protected:
  struct Machine {
    std::shared_ptr<const Backend> backend;
    Mesh mesh;
    Array on(const Literal& literal, const PartitionSpec& spec = {}) const {
      return Array::from_literal(backend, mesh, spec, literal);
    }
    Executable compiled(Program program) const { return compile(backend, mesh, std::move(program)); }
  };

  static Machine machine(const Mesh& mesh) { return {cpu(static_cast<int>(mesh.num_devices())), mesh}; }
  static StepSettings settings(const Mesh& mesh, int64_t rows = kRows) {
    return {.mesh = mesh, .batch = token_batch_types(rows, kLength)};
  }
  static std::vector<Array> start(const Trainer& t, const Machine& m) {
    const Executable init = m.compiled(make_init_program(t.model(), t.learner(), m.mesh));
    return init(std::vector<Array>{m.on(seed_words(3))});
  }
  static Literal scalars(const Trainer& t, int64_t step) {
    std::vector<double> out;
    for (const auto& [name, value] : t.learner().scalars(step)) out.push_back(value);
    return Literal::from(DType::f32, {static_cast<int64_t>(out.size())}, out);
  }
  static void add_batch(std::vector<Array>& args, const Machine& m, const Batch& batch) {
    for (const auto& [name, array] : batch) args.push_back(m.on(array, batch_partition()));
  }

  // The next state and the metrics, last.
  static std::vector<Array> step_by_one(const Trainer& t, const Machine& m, const Executable& step, int64_t number,
                                        std::vector<Array> args) {
    for (const Literal& each : {seed_words(3), Literal::scalar_int(DType::i32, number), scalars(t, number)}) {
      args.push_back(m.on(each));
    }
    add_batch(args, m, t.data().batch(number));
    return step(args);
  }
  static std::vector<Array> gradients_of(const Machine& m, const Executable& program, size_t model_arrays,
                                         int64_t number, const std::vector<Array>& state, const Batch& batch) {
    std::vector<Array> args(state.begin(), state.begin() + static_cast<int64_t>(model_arrays));
    args.push_back(m.on(seed_words(3)));
    args.push_back(m.on(Literal::scalar_int(DType::i32, number)));
    add_batch(args, m, batch);
    return program(args);
  }
  static std::vector<Array> apply(const Trainer& t, const Machine& m, const Executable& program, int64_t number,
                                  std::vector<Array> state, const std::vector<Array>& passed, double loss) {
    state.insert(state.end(), passed.begin(), passed.end());
    for (const Literal& each :
         {Literal::scalar(DType::f32, loss), Literal::scalar_int(DType::i32, number), scalars(t, number)}) {
      state.push_back(m.on(each));
    }
    return program(state);
  }
};

// Rows of a batch from `begin` on.
Batch rows_of(const Batch& batch, int64_t begin, int64_t count) {
  Batch out;
  for (const auto& [name, array] : batch) {
    Literal part(TensorType{array.dtype(), {count, array.dims()[1]}});
    for (int64_t i = 0; i < part.size(); ++i) part.set_int(i, array.as_int(begin * array.dims()[1] + i));
    out.emplace(name, std::move(part));
  }
  return out;
}

TEST_F(SplitStepTest, TwoProgramsDoWhatOneDoes) {
  const Trainer t(config(40));
  for (const Mesh& mesh : {Mesh(), Mesh{{"fsdp", 2}, {"model", 2}}}) {
    const Machine m = machine(mesh);
    const TrainProgram whole = make_train_program(t.model(), t.learner(), settings(mesh));
    const GradientProgram first = make_gradient_program(t.model(), t.learner(), settings(mesh));
    const ApplyProgram second = make_apply_program(t.model(), t.learner(), settings(mesh));
    EXPECT_EQ(first.metric_names.at(0), "loss");
    EXPECT_EQ(second.scalar_names, whole.scalar_names);
    const Executable one = m.compiled(whole.program), gradient = m.compiled(first.program),
                     update = m.compiled(second.program);
    std::vector<Array> want = start(t, m), got = start(t, m);
    for (int64_t step = 0; step < 5; ++step) {
      want = step_by_one(t, m, one, step, std::move(want));
      const Literal want_metrics = want.back().to_literal();
      want.pop_back();
      std::vector<Array> passed = gradients_of(m, gradient, first.layout.model.size(), step, got, t.data().batch(step));
      const double loss = passed.back().to_literal().as_double(0);
      passed.pop_back();
      got = apply(t, m, update, step, std::move(got), passed, loss);
      const Literal metrics = got.back().to_literal();
      got.pop_back();
      EXPECT_NEAR(loss, want_metrics.as_double(0), 1e-6 * loss) << to_string(mesh) << " step " << step;
      EXPECT_NEAR(metrics.as_double(0), want_metrics.as_double(1), 1e-5 * metrics.as_double(0)) << "the norm";
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(difference(got[i].to_literal(), want[i].to_literal(), 1e-5), "")
            << whole.layout.arrays[i].name << " step " << step;
      }
    }
  }
}

// Halves of a batch on machines of their own, and the mean of their gradients.
TEST_F(SplitStepTest, GradientsOfPartsMayBeReducedBetween) {
  const Trainer t(config(40));
  const Machine m = machine(Mesh());
  const TrainProgram whole = make_train_program(t.model(), t.learner(), settings(Mesh()));
  const GradientProgram half = make_gradient_program(t.model(), t.learner(), settings(Mesh(), kRows / 2));
  const ApplyProgram second = make_apply_program(t.model(), t.learner(), settings(Mesh()));
  const Executable gradient = m.compiled(half.program);
  const std::vector<Array> state = start(t, m);
  std::vector<std::vector<Array>> parts;
  for (const int64_t begin : {int64_t{0}, kRows / 2}) {
    parts.push_back(
        gradients_of(m, gradient, half.layout.model.size(), 0, state, rows_of(t.data().batch(0), begin, kRows / 2)));
  }
  double loss = 0;
  std::vector<Array> mean;
  for (size_t i = 0; i < parts[0].size(); ++i) {
    Literal sum = parts[0][i].to_literal();
    const Literal other = parts[1][i].to_literal();
    for (int64_t k = 0; k < sum.size(); ++k) sum.set(k, (sum.as_double(k) + other.as_double(k)) / 2);
    if (i + 1 == parts[0].size()) {
      loss = sum.as_double(0);
    } else {
      mean.push_back(m.on(sum));
    }
  }
  const std::vector<Array> got = apply(t, m, m.compiled(second.program), 0, state, mean, loss);
  const std::vector<Array> want = step_by_one(t, m, m.compiled(whole.program), 0, start(t, m));
  for (size_t i = 0; i + 1 < got.size(); ++i) {
    // What counts rather than averages is another's to reduce.
    if (i < whole.layout.model.size() && !whole.layout.model[i].trainable) continue;
    EXPECT_EQ(difference(got[i].to_literal(), want[i].to_literal(), 1e-4), "") << whole.layout.arrays[i].name;
  }
}

}  // namespace
}  // namespace tenon
