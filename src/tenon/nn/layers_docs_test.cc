// docs/layers.md is written from the registry. After a change of a layer's config, write it again by running this test
// with TENON_UPDATE_GOLDEN=1.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/file.h"
#include "tenon/config/config_type.h"
#include "tenon/config/inspect.h"
#include "tenon/config/registry.h"
#include "tenon/config/tree.h"
#include "tenon/config/value_type.h"
#include "tenon/nn/module.h"
#include "tenon/nn/register.h"

namespace tenon {
namespace {

using Defaults = std::map<std::string, std::string>;

// What stands under one heading: the implementations of an interface, one class, or the functions of a signature.
struct Kind {
  std::string_view name;          // of the interface or class, or the signature
  std::string_view heading = {};  // of functions
  std::string_view about = {};    // likewise
};
struct Chapter {
  std::string_view title, about;
  std::vector<Kind> kinds;
};

const std::vector<Chapter>& chapters() {
  static const std::vector<Chapter> all{
      {"Models",
       "The root: embeddings, stacks of layers, a head and a loss ([objectives.md](objectives.md)).",
       {{"Model"}, {"LanguageModel"}, {"TextEncoder"}}},
      {"Layers and their stack",
       "A stack is a pattern of layers, repeated. A layer has branches, each joined to the residual stream by a "
       "`Residual`.",
       {{"Decoder"}, {"TransformerLayer"}, {"Residual"}}},
      {"Attention",
       "`MultiheadAttention` is put together from a projection, a core, a cache and what is added to the logits.",
       {{"Attention"}, {"CrossAttention"}, {"QkvProjection"}, {"AttentionCore"}, {"AttentionBias"}, {"KvCache"}}},
      {"Masks",
       "`attention.core.mask` says which keys a query may see, from positions and segments; masks combine.",
       {{"MaskSignature", "Mask", "which keys a query may see"}}},
      {"Positions",
       "Added to the embeddings (below), turned into queries and keys ([RotaryQkv](#rotaryqkv)) or added to the logits "
       "([AlibiBias](#alibibias), [RelativeBias](#relativebias)).",
       {{"PositionEmbedding"},
        {"ScalingSignature", "RotaryScaling", "how rotary positions are stretched over longer texts"}}},
      {"Norms",
       "Where they stand, before, behind or around a branch, is for the [Residual](#residual) to say.",
       {{"Norm"}}},
      {"Feed-forward",
       "Each token by itself: linear layers with an activation between, or a choice of such.",
       {{"FeedForward"},
        {"ActivationSignature", "Activation", "of each element by itself"},
        {"int64_t(int64_t)", "Dimension", "a dimension by another"}}},
      {"Mixtures of experts",
       "What [MixtureOfExperts](#mixtureofexperts) is put together from "
       "([mixture_of_experts.md](mixture_of_experts.md)).",
       {{"Router"}, {"Dispatch"}, {"Experts"}}},
      {"State spaces",
       "What [Mamba2](#mamba2) is put together from ([state_space.md](state_space.md)).",
       {{"CausalConv"}, {"GatedNorm"}}},
      {"Embeddings and linear layers",
       "A `Linear` multiplies by a matrix; its `dot` says how: plainly, in 8 bits, with an "
       "adapter\n([quantization.md](quantization.md)).",
       {{"Embedding"}, {"Linear"}, {"Dot"}}},
      {"Heads and losses",
       "From hidden states to logits, and what training makes smaller.",
       {{"LmHead"}, {"TokenLoss"}}},
      {"Vision",
       "[images.md](images.md) tells how they fit together.",
       {{"ImageEncoder"},
        {"PatchEmbedding"},
        {"Conv2D"},
        {"ResidualBlock"},
        {"Pool"},
        {"GlobalPool"},
        {"PaddingSignature", "Padding", "what is put around an image"}}},
      {"Initial values",
       "Fields called `init`.",
       {{"InitSignature", "Initializer", "what a parameter is before training"}}},
      {"What the backward pass keeps",
       "The field `remat` of every module; what it doesn't say is left to the module above\n([remat.md](remat.md)).",
       {{"Save(const RematQuery&)", "RematPolicy", "what is kept, and where"}}},
      {"Modifiers",
       "Given to `--modify`, in files and in mesh rules, over a whole tree ([configs.md](configs.md)).",
       {{"void(AnyConfig&)", "Modifier", "changes a config"}}}};
  return all;
}

std::string cell(std::string text) {
  for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.replace(at, 1, "\\|");
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

class LayersDocument {
 public:
  LayersDocument() { register_nn(registry_); }

  std::string text() {
    std::string out = kIntroduction;
    for (const Chapter& chapter : chapters()) {
      std::string anchor = lower(chapter.title);
      std::replace(anchor.begin(), anchor.end(), ' ', '-');
      out += fmt::format("- [{}](#{})\n", chapter.title, anchor);
    }
    for (const Chapter& chapter : chapters()) {
      out += fmt::format("\n## {}\n", chapter.title);
      if (!chapter.about.empty()) out += fmt::format("{}\n", chapter.about);
      for (const Kind& kind : chapter.kinds) out += kind.heading.empty() ? classes(kind) : functions(kind);
    }
    return out;
  }

  // Names of what no chapter has.
  std::vector<std::string> left_out() const {
    std::vector<std::string> out;
    for (const ConfigType* type : registry_.implementations(Module::Config::static_type())) {
      if (!written_.contains(std::string(type->name()))) out.emplace_back(type->name());
    }
    for (const FnType* type : registry_.functions()) {
      if (!written_.contains(std::string(type->name()))) out.emplace_back(type->name());
    }
    return out;
  }

 private:
  static constexpr const char* kIntroduction =
      "# Layers\n\n"
      "A model is a tree of modules, and its config a tree of theirs. A field whose type is a link takes any of what "
      "stands "
      "under that\nheading: `--set model.decoder.norm.type=LayerNorm` puts another in, `tenon config tree EXPERIMENT` "
      "shows "
      "what there is. Fields\nthat a parent sets are marked required. Every module also has `remat` (what the backward "
      "pass "
      "keeps of it), `compute_dtype`\n(what its parameters are read in) and `param_dtype` (what they are stored in). "
      "`tenon config doc NAME` says the same as here;\nshapes, units and sources stand beside each class in "
      "`src/tenon/nn`. This page is written from the registry by\n`src/tenon/nn/layers_docs_test.cc`.\n\n"
      "```\n"
      "CausalLm\n"
      "  embedding, position_embedding\n"
      "  decoder                   a stack of layers\n"
      "    pattern.0               DecoderLayer, repeated\n"
      "      attention             qkv, core (mask, bias), kv_cache, output\n"
      "      feed_forward          linear layers and an activation, or a mixture of experts\n"
      "      residual              norm, and how a branch is added\n"
      "    norm\n"
      "  head, loss\n"
      "```\n\n";

  std::string classes(const Kind& kind) {
    std::string out;
    for (const ConfigType* type : registry_.implementations(Module::Config::static_type())) {
      if (type->name() == kind.name) return entry("###", *type);
      if (type->base()->name() != kind.name) continue;
      if (out.empty()) out = fmt::format("\n### {}\n{}\n", kind.name, type->base()->doc());
      out += entry("####", *type);
    }
    return out;
  }

  std::string functions(const Kind& kind) {
    std::string out = fmt::format("\n### {}\n{}\n", kind.heading, kind.about);
    for (const FnType* type : registry_.functions()) {
      if (type->signature_text() != kind.name) continue;
      const auto holder = type->make();
      written_.emplace(type->name());
      out += fmt::format("\n#### {}\n{}\n{}", type->name(), type->doc(),
                         fields_table(type->fields(), defaults_of(*type, *holder)));
    }
    return out;
  }

  // Fields of Module itself are told of once.
  std::string entry(std::string_view level, const ConfigType& type) {
    written_.emplace(type.name());
    const auto fields = type.fields().subspan(Module::Config::static_type().fields().size());
    return fmt::format("\n{} {}\n{}\n{}", level, type.name(), type.doc(), fields_table(fields, defaults_of(type)));
  }

  std::string fields_table(std::span<const Field> fields, const Defaults& defaults) const {
    if (fields.empty()) return "";
    std::string out = "\n| field | type | default | |\n|---|---|---|---|\n";
    for (const Field& field : fields) {
      out += fmt::format("| `{}` | {} | {} | {} |\n", field.name, type_cell(field.type()),
                         cell(default_of(field, defaults)), cell(std::string(field.doc)));
    }
    return out;
  }

  std::string type_cell(const ValueType& type) const {
    const auto link = [](std::string_view heading) { return fmt::format("[{}](#{})", heading, lower(heading)); };
    if (type.kind() == ValueType::Kind::slot) return link(static_cast<const SlotType&>(type).interface().name());
    if (type.kind() == ValueType::Kind::list) {
      return "list of " + type_cell(static_cast<const ListType&>(type).element());
    }
    if (type.kind() == ValueType::Kind::holder) {
      const auto& holder = static_cast<const HolderType&>(type);
      return type_cell(holder.inner()) + (holder.is_required() ? "" : ", or {} for none");
    }
    if (type.kind() != ValueType::Kind::function) return cell(type.describe());
    const auto& function = static_cast<const FunctionType&>(type);
    const std::vector<const FnType*> fitting = registry_.functions(function.signature());
    for (const Chapter& chapter : chapters()) {
      for (const Kind& kind : chapter.kinds) {
        if (fitting.empty() || kind.name != fitting[0]->signature_text()) continue;
        const LeafType* constants = function.constants();
        return link(kind.heading) + (constants == nullptr ? "" : ", or a constant: " + constants->describe());
      }
    }
    return cell(type.describe());
  }

  static std::string default_of(const Field& field, const Defaults& defaults) {
    const ValueType& type = field.type();
    if (type.kind() == ValueType::Kind::holder && static_cast<const HolderType&>(type).is_required()) return "required";
    const std::string name(field.name);
    if (const auto it = defaults.find(name + ".type"); it != defaults.end()) return it->second;
    const auto it = defaults.find(name);
    return it == defaults.end() ? "" : it->second;
  }

  static Defaults defaults_of(const ConfigType& type) {
    Defaults out;
    for (const auto& [path, value] : flatten(*type.make())) out.emplace(path, value);
    return out;
  }

  static Defaults defaults_of(const FnType& type, detail::FnHolder& holder) {
    Defaults out;
    for (const Field& field : type.fields()) {
      const ValueRef value{&field.type(), field.get(holder.object())};
      if (value.kind() == ValueType::Kind::leaf) out.emplace(field.name, value.as<LeafType>().write(value.data).text());
    }
    return out;
  }

  Registry registry_;
  std::set<std::string> written_;
};

TEST(LayerDocs, ListEveryLayer) {
  const std::string file = std::string(TENON_SOURCE_DIR) + "/docs/layers.md";
  LayersDocument document;
  const std::string text = document.text();
  EXPECT_THAT(document.left_out(), testing::IsEmpty()) << "chapters() above has no place for them";
  if (std::getenv("TENON_UPDATE_GOLDEN") != nullptr) write_file_atomic(file, text).value();
  EXPECT_EQ(text, read_file(file).value());
}

}  // namespace
}  // namespace tenon
