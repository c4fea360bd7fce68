// What the tables refuse at compile time. Without any FAIL_ macro it compiles; with one it must not.
#include "tenon/config/define.h"

namespace tenon {

class Interface : public Configurable {
 public:
  struct Config : AnyConfig {
    TENON_FIELDS()
  };
};
class Other : public Configurable {
 public:
  struct Config : AnyConfig {
    TENON_FIELDS()
  };
};
struct NothingPrints {
  Required<double> rate;
  TENON_FIELDS(rate)
};
class Implementation : public Interface {
 public:
  struct Config : Interface::Config {
    double rate = 1;
    float single = 1;
    std::vector<NothingPrints> rates;
    std::optional<Fn<double(double)>> schedule;
#if defined(FAIL_FIELD_TYPE)
    TENON_CONFIG(single)
#elif defined(FAIL_LIST_OF_NOTHING)
    TENON_CONFIG(rates)
#elif defined(FAIL_OPTIONAL_FN)
    TENON_CONFIG(schedule)
#elif defined(FAIL_UNKNOWN_FIELD)
    TENON_CONFIG(rats)
#else
    TENON_CONFIG(rate)
#endif
  };
#if !defined(FAIL_NO_CONSTRUCTOR)
  explicit Implementation(const Config&) {}
#endif
};
#if defined(FAIL_WRONG_INTERFACE)
TENON_MODULE(Implementation, Other, "")
#else
TENON_MODULE(Implementation, Interface, "")
#endif

}  // namespace tenon
