#include "tenon/nn/language/language_model.h"

#include "tenon/config/define.h"

namespace tenon {

TENON_INTERFACE(LanguageModel, Model, "a model that can also write", {"vocab_size", "tokens there are"})

Nest LanguageModel::read_source(const Nest&, const Tensor&, const Tensor&) const {
  throw Error(ErrorCode::unsupported, "this model reads no source").at(Context::current().path());
}

}  // namespace tenon
