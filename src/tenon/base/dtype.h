// Element types, spelled as in StableHLO, and conversions of single elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tenon {

enum class DType : uint8_t { i1, i8, i32, i64, u8, u32, u64, f8e4m3fn, f8e5m2, bf16, f16, f32, f64 };

inline constexpr DType kAllDTypes[] = {DType::i1,  DType::i8,  DType::i32,      DType::i64,    DType::u8,
                                       DType::u32, DType::u64, DType::f8e4m3fn, DType::f8e5m2, DType::bf16,
                                       DType::f16, DType::f32, DType::f64};

// "f32", "bf16", "i1", … The same spelling in configs, programs and errors.
std::string_view to_string(DType dtype);
std::optional<DType> parse_dtype(std::string_view text);
// Bytes of one element in memory and on disk; i1 takes one byte.
size_t byte_size(DType dtype);

constexpr bool is_float(DType d) { return d >= DType::f8e4m3fn; }
constexpr bool is_signed_int(DType d) { return d == DType::i8 || d == DType::i32 || d == DType::i64; }
constexpr bool is_unsigned_int(DType d) { return d == DType::u8 || d == DType::u32 || d == DType::u64; }
constexpr bool is_integer(DType d) { return is_signed_int(d) || is_unsigned_int(d); }
// What sums, means and functions of such values are computed in: f64 for f64, else f32.
constexpr DType wide_dtype(DType d) { return d == DType::f64 ? d : DType::f32; }

// One float element at `p` as a double, exactly; and back, rounding to nearest even (out of range: infinity, or NaN for
// f8e4m3fn, which has no infinity). `dtype` must be a float type.
double load_float(DType dtype, const std::byte* p);
void store_float(DType dtype, std::byte* p, double value);
// One integer or i1 element as 64 bits (unsigned types keep their bit pattern); and back, keeping the low bits
// (i1: 1 unless zero).
int64_t load_int(DType dtype, const std::byte* p);
void store_int(DType dtype, std::byte* p, int64_t value);

}  // namespace tenon
