#include "tenon/config/checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/text.h"
#include "tenon/config/value.h"

namespace tenon {

bool Checker::Number::less(const Number& other) const {
  if (is_integer_ && other.is_integer_) return integer_ < other.integer_;
  return real() < other.real();
}

bool Checker::Number::equal(const Number& other) const {
  if (is_integer_ && other.is_integer_) return integer_ == other.integer_;
  return real() == other.real();
}

std::string Checker::Number::text() const { return is_integer_ ? fmt::format("{}", integer_) : format_float(real_); }

void Checker::positive(std::string_view field, const Number& value) {
  if (value.is_set()) require(Number(0).less(value), field, fmt::format("must be positive, is {}", value.text()));
}

void Checker::at_least(std::string_view field, const Number& value, const Number& min) {
  if (!value.is_set() || !min.is_set()) return;
  require(min.less(value) || min.equal(value), field,
          fmt::format("must be at least {}, is {}", min.text(), value.text()));
}

void Checker::at_most(std::string_view field, const Number& value, const Number& max) {
  if (!value.is_set() || !max.is_set()) return;
  require(value.less(max) || value.equal(max), field,
          fmt::format("must be at most {}, is {}", max.text(), value.text()));
}

void Checker::one_of(std::string_view field, const Number& value, std::initializer_list<int64_t> allowed) {
  if (!value.is_set()) return;
  const bool ok = std::any_of(allowed.begin(), allowed.end(), [&](int64_t a) { return value.equal(Number(a)); });
  std::vector<std::string> names;
  for (const int64_t one : allowed) names.push_back(fmt::format("{}", one));
  require(ok, field, fmt::format("must be one of {}, is {}", join(names, ", "), value.text()));
}

void Checker::one_of(std::string_view field, std::string_view value, std::initializer_list<std::string_view> allowed) {
  const bool ok = std::find(allowed.begin(), allowed.end(), value) != allowed.end();
  const std::vector<std::string> names(allowed.begin(), allowed.end());
  require(ok, field, fmt::format("must be one of {}, is {}", join(names, ", "), quote(value)));
}

void Checker::require(bool ok, std::string_view field, std::string_view message) {
  if (ok) return;
  std::string path = prefix_;
  if (!path.empty() && !field.empty()) path += '.';
  problems_.push_back({path + std::string(field), std::string(message)});
}

void Checker::raise() const {
  if (problems_.empty()) return;
  if (problems_.size() == 1) {
    throw Error(ErrorCode::invalid_argument, problems_[0].message).at(problems_[0].path);
  }
  std::vector<std::string> lines;
  for (const Problem& problem : problems_) lines.push_back(problem.path + " " + problem.message);
  throw Error(ErrorCode::invalid_argument, fmt::format("{} problems: {}", lines.size(), join(lines, "; ")));
}

}  // namespace tenon
