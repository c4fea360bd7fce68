#include "tenon/nn/parallel_modifiers.h"

#include <algorithm>

#include "tenon/config/define.h"
#include "tenon/config/modify.h"
#include "tenon/config/tree.h"
#include "tenon/nn/language/causal_lm.h"

namespace tenon {

TENON_FN_TYPE(ContextParallel, void(AnyConfig&), "splits attention over the mesh axis 'seq'",
              {"exchange", "how devices get to see each other's keys"},
              {"order",
               "zigzag: causal attention costs all devices as much; as_read: for windows, and for layers that "
               "need neighbours"})
TENON_FN_TYPE(SequenceParallel, void(AnyConfig&), "splits the residual stream along T over 'model' too")
TENON_FN_TYPE(PipelineParallel, void(AnyConfig&), "splits the layers of decoders over the mesh axis 'pipeline'",
              {"microbatches", "parts of a batch that are on their way at the same time"},
              {"rounds", "how often a microbatch goes around"},
              {"schedule", "gpipe: all gradients at the end; one_f_one_b: each as soon as its loss is known"})

namespace {

class OrderSetter : public TreeVisitor {
 public:
  explicit OrderSetter(TokenOrder order) : order_(order) {}
  bool enter(const Path&, AnyConfig& config) override {
    auto* model = dynamic_cast<CausalLm::Config*>(&config);
    if (model != nullptr) {
      model->token_order = order_;
      ++count_;
    }
    return true;
  }
  int64_t count() const { return count_; }

 private:
  TokenOrder order_;
  int64_t count_ = 0;
};

class StreamSplitter : public TreeVisitor {
 public:
  bool value(const Path& path, const ValueRef& value) override {
    if (value.type->cpp_type() != typeid(PartitionSpec) || path.empty() || path.back() != "activation_partition") {
      return true;
    }
    std::vector<Axis> dims = static_cast<const PartitionSpec*>(value.data)->dims();
    if (dims.size() < 2) return true;
    std::vector<std::string>& names = dims[1].names;
    if (std::find(names.begin(), names.end(), "model") == names.end()) names.emplace_back("model");
    const PartitionSpec spec(std::move(dims));
    value.type->assign(value.data, &spec);
    ++count_;
    return true;
  }
  int64_t count() const { return count_; }

 private:
  int64_t count_ = 0;
};

class LayerSplitter : public TreeVisitor {
 public:
  explicit LayerSplitter(const PipelineConfig& pipeline) : pipeline_(pipeline) {}
  bool enter(const Path&, AnyConfig& config) override {
    if (auto* decoder = dynamic_cast<Decoder::Config*>(&config)) {
      decoder->form = StackForm::pipeline;
      decoder->pipeline = pipeline_;
      ++count_;
    }
    return true;
  }
  int64_t count() const { return count_; }

 private:
  PipelineConfig pipeline_;
  int64_t count_ = 0;
};

void require_some(int64_t count, const char* what) {
  if (count == 0) throw Error(ErrorCode::invalid_argument, std::string("the tree has no ") + what);
}

}  // namespace

void ContextParallel::operator()(AnyConfig& tree) const {
  ContextParallelAttention::Config core;
  core.exchange = exchange;
  replace(tree, AttentionCore::Config::static_type(), core);
  OrderSetter setter(order);
  walk(tree, setter);
  if (order != TokenOrder::as_read) require_some(setter.count(), "CausalLm to lay tokens in this order");
}

void SequenceParallel::operator()(AnyConfig& tree) const {
  StreamSplitter splitter;
  walk(tree, splitter);
  require_some(splitter.count(), "activation_partition with an entry for T");
}

void PipelineParallel::check(Checker& c) const { PipelineConfig{microbatches, rounds, schedule}.check(c); }

void PipelineParallel::operator()(AnyConfig& tree) const {
  LayerSplitter splitter({microbatches, rounds, schedule});
  walk(tree, splitter);
  require_some(splitter.count(), "Decoder, whose layers can be split");
}

}  // namespace tenon
