#include "tenon/base/stacked_name.h"

#include "tenon/base/error.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

// The component "first::period" of a name, and what stands around it.
struct Place {
  std::string before, after;
  int64_t first = 0, period = 1;
};

Place find_place(std::string_view name) {
  size_t begin = 0;
  for (const std::string& part : split(name, '.')) {
    const size_t end = begin + part.size(), colons = part.find("::");
    if (colons != std::string::npos) {
      const auto first = parse_int(part.substr(0, colons)), period = parse_int(part.substr(colons + 2));
      if (first.ok() && period.ok()) {
        return {std::string(name.substr(0, begin)), std::string(name.substr(end)), *first, *period};
      }
    }
    begin = end + 1;
  }
  throw Error(ErrorCode::internal, "a stacked array whose name doesn't tell its layers").at(std::string(name));
}

}  // namespace

std::vector<std::string> layer_names(std::string_view name, int64_t stack) {
  if (stack == 0) return {std::string(name)};
  const Place place = find_place(name);
  std::vector<std::string> out;
  for (int64_t r = 0; r < stack; ++r) {
    out.push_back(place.before + std::to_string(place.first + r * place.period) + place.after);
  }
  return out;
}

}  // namespace tenon
