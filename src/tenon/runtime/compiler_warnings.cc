#include "tenon/runtime/compiler_warnings.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/text.h"

namespace tenon {

void require_kept_split(const std::vector<pjrt::CompilerWarning>& warnings) {
  constexpr size_t kMost = 3;
  std::vector<std::string> ops;
  const pjrt::CompilerWarning* first = nullptr;
  for (const pjrt::CompilerWarning& w : warnings) {
    if (w.kind != pjrt::CompilerWarning::Kind::replicates) continue;
    if (first == nullptr) first = &w;
    if (std::find(ops.begin(), ops.end(), w.op) == ops.end()) ops.push_back(w.op);
  }
  if (first == nullptr) return;
  const size_t count = ops.size();
  if (count > kMost) ops.resize(kMost);
  throw Error(ErrorCode::mesh_mismatch, fmt::format("the compiler gives up on keeping arrays split: {}", first->text))
      .at(join(ops, ", ") + (count > kMost ? fmt::format(" and {} more", count - kMost) : ""))
      .hint("give the arrays around it partitions that agree, or accept it with --allow_replication");
}

}  // namespace tenon
