// Checker: what a config's `check` member reports to: ranges and cross-field rules.
//
//   void check(Checker& c) const {
//     c.positive("num_heads", num_heads);
//     c.require(num_heads % num_kv_heads == 0, "num_heads", "must be a multiple of num_kv_heads");
//   }
//
// A check runs when a field is set by text, at load and at build. It collects, so one error tells all problems.
// Required fields that aren't set yet are skipped: a check that reads one is run again at build, when it must be set.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/config/required.h"

namespace tenon {

class Checker {
 public:
  // A number to check, or nothing where a required or optional field has none.
  class Number {
   public:
    template <std::integral T>
    Number(T value) : is_integer_(true), integer_(static_cast<int64_t>(value)) {}  // NOLINT: implicit by design
    template <std::floating_point T>
    Number(T value) : real_(value) {}  // NOLINT
    template <class T>
    Number(const Required<T>& field) : Number(field.is_set() ? Number(field.value()) : Number()) {}  // NOLINT
    template <class T>
    Number(const std::optional<T>& field) : Number(field ? Number(*field) : Number()) {}  // NOLINT

    bool is_set() const { return is_set_; }
    // Exact for integers; false where either is not a number.
    bool less(const Number& other) const;
    bool equal(const Number& other) const;
    std::string text() const;

   private:
    Number() : is_set_(false) {}
    double real() const { return is_integer_ ? static_cast<double>(integer_) : real_; }
    bool is_set_ = true;
    bool is_integer_ = false;
    int64_t integer_ = 0;
    double real_ = 0;
  };
  struct Problem {
    std::string path;
    std::string message;
  };

  // Fields are named relative to the config being checked; a dotted path reaches into a nested struct.
  void positive(std::string_view field, const Number& value);
  void at_least(std::string_view field, const Number& value, const Number& min);
  void at_most(std::string_view field, const Number& value, const Number& max);
  void one_of(std::string_view field, const Number& value, std::initializer_list<int64_t> allowed);
  void one_of(std::string_view field, std::string_view value, std::initializer_list<std::string_view> allowed);
  // A problem of `field` when `ok` is false; `message` says what must hold ("must be …").
  void require(bool ok, std::string_view field, std::string_view message);

  // Where the config being checked lies; "" at the root.
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }
  const std::vector<Problem>& problems() const { return problems_; }
  // Throws one `invalid_argument` telling all problems, if there are any.
  void raise() const;

 private:
  std::string prefix_;
  std::vector<Problem> problems_;
};

}  // namespace tenon
