// How the case files collect their cases.
#pragma once

#include <limits>

#include "tenon/ir/cases/op_cases.h"

namespace tenon {

// Steps of central differences: for smooth functions of f64, and for linear ones on samples that are multiples of 1/8.
inline constexpr double kSmooth = 1e-5, kLinear = 0.125;

inline constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

inline constexpr DType kFloats[] = {DType::f32, DType::f64, DType::bf16, DType::f16, DType::f8e4m3fn, DType::f8e5m2};
inline constexpr DType kIntegers[] = {DType::i32, DType::i8, DType::i64, DType::u32, DType::u8, DType::u64};

class CaseList {
 public:
  void add(std::string op, std::string label, std::vector<Literal> inputs, TensorFn build, double step = 0) {
    cases_.push_back({std::move(op), std::move(label), std::move(inputs), std::move(build), step});
  }
  OpCase& last() { return cases_.back(); }
  std::vector<OpCase> take() { return std::move(cases_); }

 private:
  std::vector<OpCase> cases_;
};

Literal floats(DType dtype, const Dims& dims, std::vector<double> values);
Literal ints(DType dtype, const Dims& dims, std::vector<int64_t> values);
// A scalar index.
inline Literal index_of(int64_t i) { return Literal::scalar_int(DType::i32, i); }

void add_elementwise_cases(CaseList& list);
void add_compare_cases(CaseList& list);
void add_shape_cases(CaseList& list);
void add_contract_cases(CaseList& list);
void add_index_cases(CaseList& list);
void add_window_cases(CaseList& list);
void add_control_cases(CaseList& list);
void add_manual_cases(CaseList& list);
void add_kernel_cases(CaseList& list);

}  // namespace tenon
