#include "tenon/conformance/check_status.h"

namespace tenon {

bool is_good(CheckStatus status) {
  return status == CheckStatus::works || status == CheckStatus::compiles || status == CheckStatus::not_tried;
}

std::string_view to_string(CheckStatus status) {
  switch (status) {
    case CheckStatus::works:
      return "works";
    case CheckStatus::compiles:
      return "compiles";
    case CheckStatus::differs:
      return "differs";
    case CheckStatus::refused:
      return "refused";
    case CheckStatus::crashed:
      return "crashed";
    case CheckStatus::hung:
      return "hung";
    case CheckStatus::not_tried:
      return "not tried";
    case CheckStatus::lost:
      return "lost";
  }
  return "";
}

}  // namespace tenon
