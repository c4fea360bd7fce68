#include "tenon/trainer/modifiers.h"

#include <fmt/format.h>

#include <cmath>

#include "tenon/config/config_type.h"
#include "tenon/config/define.h"
#include "tenon/data/dataset.h"
#include "tenon/trainer/trainer.h"

namespace tenon {

TENON_FN_TYPE(SetMesh, void(AnyConfig&), "how devices are arranged", {"mesh", "all axes"})
TENON_FN_TYPE(AccumulateGradients, void(AnyConfig&), "splits every batch into microbatches", {"steps", "how many"})
TENON_FN_TYPE(ScaleBatch, void(AnyConfig&), "multiplies the batch size", {"factor", "by so much"})

namespace {

Trainer::Config& trainer_of(AnyConfig& tree) {
  if (auto* trainer = dynamic_cast<Trainer::Config*>(&tree)) return *trainer;
  throw Error(ErrorCode::wrong_type, "the modifier is for a whole training")
      .got(std::string(tree.type().name()))
      .expected("a Trainer");
}

}  // namespace

void SetMesh::operator()(AnyConfig& tree) const { trainer_of(tree).mesh = mesh; }

void AccumulateGradients::check(Checker& c) const { c.positive("steps", steps); }
void AccumulateGradients::operator()(AnyConfig& tree) const { trainer_of(tree).accumulation = steps; }

void ScaleBatch::check(Checker& c) const { c.require(factor > 0, "factor", "must be above 0"); }

void ScaleBatch::operator()(AnyConfig& tree) const {
  Dataset::Config& data = *trainer_of(tree).data.operator->();
  const double scaled = factor * static_cast<double>(data.batch_size.value());
  if (!(scaled >= 1 && scaled < 1e15) || scaled != std::floor(scaled)) {
    throw Error(ErrorCode::invalid_argument, "the scaled batch isn't a whole number of examples")
        .at("data.batch_size")
        .got(fmt::format("{} * {}", factor, data.batch_size.value()));
  }
  data.batch_size = static_cast<int64_t>(scaled);
}

}  // namespace tenon
