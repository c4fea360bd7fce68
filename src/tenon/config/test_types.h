// A small zoo of modules with configs, shared by this layer's tests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/partition_spec.h"
#include "tenon/base/shape.h"
#include "tenon/config/config.h"
#include "tenon/config/registry.h"

namespace tenon::zoo {

enum class Form { scan, unroll };
TENON_ENUM(Form, scan, unroll)

class Part : public Configurable {
 public:
  struct Config : AnyConfig {
    std::optional<DType> compute_dtype;
    TENON_FIELDS(compute_dtype)
  };
};

class Linear final : public Part {
 public:
  struct Config : Part::Config {
    Required<int64_t> input_dim, output_dim;
    bool bias = false;
    PartitionSpec weight_partition = {"fsdp", "model"};
    void check(Checker& c) const;
    TENON_CONFIG(input_dim, output_dim, bias, weight_partition)
  };
  explicit Linear(const Config& config) : input_dim(config.input_dim), output_dim(config.output_dim) {}
  const int64_t input_dim, output_dim;
};

class FeedForward : public Part {
 public:
  struct Config : Part::Config {
    Required<int64_t> input_dim;
    TENON_FIELDS(input_dim)
  };
  virtual int64_t width() const = 0;
};

struct ScaledDim {
  double scale = 4;
  int64_t round_up_to = 1;
  void check(Checker& c) const { c.positive("round_up_to", round_up_to); }
  TENON_FN(scale, round_up_to)
  int64_t operator()(int64_t input_dim) const;
};
struct Doubled {
  TENON_FN()
  int64_t operator()(int64_t dim) const { return 2 * dim; }
};
struct Warmup {
  Required<int64_t> steps;
  TENON_FN(steps)
  double operator()(int64_t step) const;
};

class GatedFeedForward final : public FeedForward {
 public:
  struct Config : FeedForward::Config {
    Config();
    Fn<int64_t(int64_t)> hidden_dim = ScaledDim{.scale = 8.0 / 3, .round_up_to = 256};
    Slot<Linear> linear;
    TENON_CONFIG(hidden_dim, linear)
  };
  explicit GatedFeedForward(const Config& config);
  int64_t width() const override { return up_->output_dim; }

 private:
  std::unique_ptr<Linear> up_;
};

class Experts final : public FeedForward {
 public:
  struct Config : FeedForward::Config {
    int64_t num_experts = 8;
    Fn<int64_t(int64_t)> hidden_dim = 128;
    Slot<Linear> linear;
    Slot<FeedForward> expert;
    void check(Checker& c) const;
    Config();
    TENON_CONFIG(num_experts, hidden_dim, linear, expert)
  };
  explicit Experts(const Config& config) : num_experts_(config.num_experts) {}
  int64_t width() const override { return num_experts_; }

 private:
  int64_t num_experts_;
};

struct MeshShape {
  int64_t fsdp = 1, model = 1;
  void check(Checker& c) const {
    c.at_least("fsdp", fsdp, -1);
    c.positive("model", model);
  }
  TENON_FIELDS(fsdp, model)
};
struct Source {
  Required<std::string> path;
  double weight = 1;
  TENON_FIELDS(path, weight)
};

// One field of every type.
class Model final : public Configurable {
 public:
  struct Config : AnyConfig {
    Required<int64_t> vocab_size;
    std::string name = "model";
    double dropout = 0;
    Form form = Form::scan;
    DType dtype = DType::f32;
    MeshShape mesh;
    std::optional<int64_t> max_len;
    std::optional<MeshShape> eval_mesh;
    std::optional<Slot<Linear>> head;
    Dims block = {128, 256};
    std::vector<Source> sources;
    std::map<std::string, double> rates;
    std::vector<Slot<FeedForward>> layers;
    Fn<double(int64_t)> schedule;
    Fn<int64_t(int64_t)> width = 64;
    void check(Checker& c) const { c.at_most("dropout", dropout, 1); }
    TENON_CONFIG(vocab_size, name, dropout, form, dtype, mesh, max_len, eval_mesh, head, block, sources, rates, layers,
                 schedule, width)
  };
  explicit Model(const Config&) {}
};

void register_zoo(Registry& registry);
// A registry with the zoo in it.
const Registry& registry();

}  // namespace tenon::zoo
