#include "tenon/optim/modifiers.h"

#include "tenon/base/error.h"
#include "tenon/config/define.h"
#include "tenon/config/tree.h"
#include "tenon/optim/frozen.h"
#include "tenon/optim/learner.h"
#include "tenon/optim/optimizer_by_path.h"

namespace tenon {

TENON_FN_TYPE(Freeze, void(AnyConfig&), "trains no parameter whose path matches",
              {"parameters", "regular expression looked for in the parameter's path"})

namespace {

class Freezer : public TreeVisitor {
 public:
  explicit Freezer(const std::string& parameters) {
    rule_.path = parameters;
    rule_.optimizer = Frozen::Config{};
  }
  bool enter(const Path&, AnyConfig& config) override {
    auto* learner = dynamic_cast<Learner::Config*>(&config);
    if (learner == nullptr) return true;
    OptimizerByPath::Config by_path;
    if (learner->optimizer.is<OptimizerByPath>()) {
      by_path = learner->optimizer.as<OptimizerByPath>();
    } else {
      by_path.otherwise = learner->optimizer;
    }
    by_path.rules.insert(by_path.rules.begin(), rule_);
    learner->optimizer = by_path;
    found_ = true;
    return false;
  }
  bool found() const { return found_; }

 private:
  OptimizerRule::Config rule_;
  bool found_ = false;
};

}  // namespace

void Freeze::operator()(AnyConfig& tree) const {
  Freezer freezer(parameters);
  walk(tree, freezer);
  if (!freezer.found()) throw Error(ErrorCode::invalid_argument, "nothing to freeze: the tree has no Learner");
}

}  // namespace tenon
