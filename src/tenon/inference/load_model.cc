#include "tenon/inference/load_model.h"

#include "tenon/base/file.h"
#include "tenon/base/stacked_name.h"
#include "tenon/base/text.h"
#include "tenon/checkpoint/manifest.h"
#include "tenon/config/access.h"
#include "tenon/config/text.h"
#include "tenon/config/tree.h"
#include "tenon/nn/language/decoder.h"
#include "tenon/text/saved_tokenizer.h"

namespace tenon {
namespace {

class Unroll final : public TreeVisitor {
 public:
  bool enter(const Path&, AnyConfig& config) override {
    if (auto* decoder = dynamic_cast<Decoder::Config*>(&config)) decoder->form = StackForm::unroll;
    return true;
  }
};

Error cannot_write(const OpenedCheckpoint& checkpoint, std::string what) {
  return Error(ErrorCode::unsupported, std::move(what)).at(checkpoint.path() + "/config.toml:model");
}

}  // namespace

void unroll_decoders(AnyConfig& config) {
  Unroll unroll;
  walk(config, unroll);
}

std::unique_ptr<LanguageModel> load_model(const OpenedCheckpoint& checkpoint,
                                          const std::vector<std::string>& assignments) {
  const std::string file = join_path(checkpoint.path(), "config.toml");
  const std::unique_ptr<AnyConfig> config = from_toml(checkpoint.file("config.toml").value(), file);
  for (const std::string& assignment : assignments) {
    if (assignment.starts_with("model.")) continue;
    throw Error(ErrorCode::invalid_argument, "only what lies in the model plays a part in writing")
        .at("--set")
        .got(quote_text(assignment))
        .expected("model.…=…");
  }
  apply_set(*config, assignments);
  Slot<Model>& slot = get_as<Slot<Model>>(*config, "model");
  if (!slot.is<LanguageModel>()) {
    throw cannot_write(checkpoint, "this model can't write text")
        .got(std::string(slot->type().name()))
        .expected("a LanguageModel, as CausalLm");
  }
  unroll_decoders(slot.mutable_get());
  return std::unique_ptr<LanguageModel>(static_cast<LanguageModel*>(slot.build().release()));
}

std::vector<StateArray> source_arrays(const std::vector<StateArray>& arrays, const OpenedCheckpoint& checkpoint,
                                      ParameterSet parameters) {
  if (parameters == ParameterSet::trained) return arrays;
  // As a learner with `ema` names them.
  constexpr std::string_view kPrefix = "learner.ema.";
  std::vector<StateArray> out = arrays;
  bool found = false;
  for (StateArray& array : out) {
    const std::string mean = std::string(kPrefix) + array.name;
    if (!checkpoint.type(layer_names(mean, array.stack).front()).ok()) continue;
    array.name = mean;
    found = true;
  }
  if (found) return out;
  throw Error(ErrorCode::not_found, "the checkpoint has no running means of parameters")
      .at(checkpoint.path())
      .hint("train with learner.ema, as --set learner.ema.decay=0.999");
}

std::shared_ptr<const Tokenizer> load_tokenizer(const OpenedCheckpoint& checkpoint) {
  if (exists(join_path(checkpoint.path(), kTokenizerFile))) return load_tokenizer(checkpoint.path());
  throw Error(ErrorCode::unsupported, "the checkpoint has no tokenizer: its model wasn't trained on text")
      .at(checkpoint.path());
}

std::vector<StateArray> state_arrays(const Module& model) {
  std::vector<StateArray> out;
  for (const ParamInfo& info : describe_state(model)) {
    out.push_back({info.path, info.logical_shape(), info.stack, info.partition, MemoryKind::device, info.dtype});
  }
  return out;
}

}  // namespace tenon
