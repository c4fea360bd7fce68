#include "tenon/autodiff/remat.h"

#include <algorithm>

#include "tenon/config/define.h"
#include "tenon/config/registry.h"

namespace tenon {

TENON_FN_TYPE(SaveEverything, Save(const RematQuery&), "keeps every value the backward pass reads")
TENON_FN_TYPE(SaveNothing, Save(const RematQuery&), "computes everything again from the inputs of the scope")
TENON_FN_TYPE(SaveDots, Save(const RematQuery&), "keeps the results of contractions")
TENON_FN_TYPE(SaveTags, Save(const RematQuery&), "keeps values with these tags",
              {"device", "tags kept in device memory"}, {"host", "tags kept in host memory"})

Save SaveEverything::operator()(const RematQuery&) const { return Save::device; }
Save SaveNothing::operator()(const RematQuery&) const { return Save::recompute; }
Save SaveDots::operator()(const RematQuery& query) const {
  return query.op == "dot_general" ? Save::device : Save::recompute;
}
Save SaveTags::operator()(const RematQuery& query) const {
  const auto has = [&](const std::vector<std::string>& tags) {
    return !query.tag.empty() && std::find(tags.begin(), tags.end(), query.tag) != tags.end();
  };
  return has(device) ? Save::device : has(host) ? Save::host : Save::recompute;
}

void register_autodiff(Registry& registry) { registry.add<SaveEverything, SaveNothing, SaveDots, SaveTags>(); }

RematScope::RematScope(const RematPolicy& policy) {
  if (!policy) return;
  Trace& trace = current_trace();
  previous_ = trace.mark().remat_scope;
  trace.set_remat_scope(trace.add_remat_scope([policy](const RematQuery& query) { return policy(query); }));
  active_ = true;
}

RematScope::~RematScope() {
  if (active_) current_trace().set_remat_scope(previous_);
}

}  // namespace tenon
