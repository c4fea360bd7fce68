#include "tenon/trainer/parity_limits.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "tenon/base/text.h"
#include "tenon/config/tree.h"
#include "tenon/config/value.h"

namespace tenon {
namespace {

constexpr std::string_view kNarrow =
    "dtypes below f32: sums in another order differ in their last digit; compare in f32";
constexpr std::string_view kDraws =
    "draws: each microbatch has its own, so they depend on the number of microbatches, but not on the mesh";
constexpr std::string_view kBias =
    "a router's bias: it moves after every microbatch, so it depends on their number, but not on the mesh";
constexpr std::string_view kScales =
    "8-bit products: their scales are of the last microbatches, so they depend on their number, and values at the edge "
    "of two digits round either way on another mesh";
constexpr std::string_view kCapacity =
    "capacity of experts: it goes to tokens in their order, which zigzag changes with the mesh; take as_read";

class Finder final : public TreeVisitor {
 public:
  bool enter(const Path& path, AnyConfig& config) override {
    if (config.type().name() == "Fp8Dot") add(kScales, path);
    if (config.type().name() == "CapacityDispatch") capacity_.push_back(path);
    return true;
  }
  bool value(const Path& path, const ValueRef& ref) override {
    if (ref.kind() != ValueType::Kind::leaf || ref.data == nullptr) return true;
    const Value value = ref.as<LeafType>().write(ref.data);
    const std::string& name = path.back();
    if (const auto* number = value.as<double>(); number != nullptr && *number > 0) {
      if (name == "dropout" || name == "rate" || name == "mask_rate") add(kDraws, path);
      if (name == "bias_update_rate") add(kBias, path);
    }
    if (const auto* text = value.as<std::string>()) {
      if ((name == "compute_dtype" || name == "param_dtype") && *text != "f32" && *text != "f64") add(kNarrow, path);
      if (name == "token_order" && *text == "zigzag") zigzag_ = true;
    }
    return true;
  }
  std::vector<std::string> take() {
    if (zigzag_) {
      for (const Path& path : capacity_) add(kCapacity, path);
    }
    std::vector<std::string> out;
    for (const auto& [reason, paths] : paths_) out.push_back(fmt::format("{} ({})", reason, join(paths, ", ")));
    return out;
  }

 private:
  void add(std::string_view reason, const Path& path) { paths_[reason].push_back("model." + format_path(path)); }

  std::map<std::string_view, std::vector<std::string>> paths_;  // by reason
  std::vector<Path> capacity_;
  bool zigzag_ = false;
};

}  // namespace

std::vector<std::string> parity_limits(const Trainer::Config& config) {
  Finder finder;
  walk(*config.model, finder);
  return finder.take();
}

}  // namespace tenon
