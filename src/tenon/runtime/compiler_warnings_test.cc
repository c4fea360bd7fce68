#include "tenon/runtime/compiler_warnings.h"

#include <gmock/gmock.h>

#include "tenon/base/error.h"

namespace tenon {
namespace {

using Kind = pjrt::CompilerWarning::Kind;
using ::testing::HasSubstr;

TEST(CompilerWarnings, ReplicationNamesItsModules) {
  std::vector<pjrt::CompilerWarning> warnings{{"a/add", "slow", Kind::other}, {"", "too large", Kind::cannot_fit}};
  EXPECT_NO_THROW(require_kept_split(warnings));
  for (const char* op : {"b/dot", "b/dot", "c/add", "d/add", "e/add"}) {
    warnings.push_back({op, "every device gets the whole of f32[8]", Kind::replicates});
  }
  try {
    require_kept_split(warnings);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::mesh_mismatch);
    EXPECT_EQ(e.path(), "b/dot, c/add, d/add and 1 more");
    EXPECT_THAT(e.what(), HasSubstr("the whole of f32[8]"));
    EXPECT_THAT(e.hint(), HasSubstr("--allow_replication"));
  }
}

}  // namespace
}  // namespace tenon
