#include "tenon/config/field_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/config/define.h"
#include "tenon/config/test_types.h"
#include "tenon/config/testing.h"

namespace tenon {

// Each forgets one field: with a default beside another, with none, small in a hole of alignment, at the end, nested.
class ForgetsFirst final : public Configurable {
 public:
  struct Config : AnyConfig {
    int64_t forgotten = 1, listed = 2;
    TENON_CONFIG(listed)
  };
  explicit ForgetsFirst(const Config&) {}
};
class ForgetsUninitialized final : public Configurable {
 public:
  struct Config : AnyConfig {
    bool listed = true;
    int64_t forgotten;
    TENON_CONFIG(listed)
  };
  explicit ForgetsUninitialized(const Config&) {}
};
class ForgetsSmall final : public Configurable {
 public:
  struct Config : AnyConfig {
    bool listed = true;
    bool forgotten = false;
    double last = 0;
    TENON_CONFIG(listed, last)
  };
  explicit ForgetsSmall(const Config&) {}
};
struct ForgetsLast {
  double listed = 1;
  bool forgotten = true;
  TENON_FN(listed)
  int64_t operator()(int64_t x) const { return forgotten ? x : 0; }
};
struct ForgetfulRecord {
  int64_t forgotten = 1, listed = 2;
  TENON_FIELDS(listed)
};
class ForgetsInside final : public Configurable {
 public:
  struct Config : AnyConfig {
    std::map<std::string, std::vector<ForgetfulRecord>> records;
    TENON_CONFIG(records)
  };
  explicit ForgetsInside(const Config&) {}
};
class ForgetsNothing final : public Configurable {
 public:
  struct Config : AnyConfig {
    bool a = true;
    double b = 0;
    bool c = false;
    Required<std::string> d;
    bool e = false;
    TENON_CONFIG(a, b, c, d, e)
  };
  explicit ForgetsNothing(const Config&) {}
};
TENON_MODULE(ForgetsFirst, Configurable, "")
TENON_MODULE(ForgetsUninitialized, Configurable, "")
TENON_MODULE(ForgetsSmall, Configurable, "")
TENON_MODULE(ForgetsInside, Configurable, "")
TENON_MODULE(ForgetsNothing, Configurable, "")
TENON_FN_TYPE(ForgetsLast, int64_t(int64_t), "")

namespace {

using testing::HasSubstr;

TEST(FieldAudit, FindsForgottenFields) {
  EXPECT_EQ(audit_fields(ForgetsFirst::Config::static_type()),
            "ForgetsFirst: bytes 8 to 16 belong to a field that isn't listed\n");
  EXPECT_THAT(audit_fields(ForgetsUninitialized::Config::static_type()), HasSubstr("isn't listed"));
  EXPECT_THAT(audit_fields(ForgetsSmall::Config::static_type()), HasSubstr("isn't listed"));
  EXPECT_THAT(audit_fields(ForgetsLast::fn_type()), HasSubstr("isn't listed"));
  EXPECT_THAT(audit_fields(ForgetsInside::Config::static_type()), HasSubstr("ForgetsInside.records"));
}

TEST(FieldAudit, PassesWhatListsAll) {
  expect_all_fields_listed<ForgetsNothing>();
  expect_all_fields_listed<zoo::Linear::Config>();
  expect_all_fields_listed<zoo::ScaledDim>();
  EXPECT_EQ(audit_fields(zoo::registry()), "");
}

}  // namespace
}  // namespace tenon
