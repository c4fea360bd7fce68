#include "tenon/kernels/cpu/dot_call.h"

#include <fmt/format.h>

#include "tenon/kernels/cpu/dot.h"
#include "tenon/kernels/cpu/ffi_support.h"

namespace tenon {
namespace {

namespace ffi = xla::ffi;

constexpr const char* kTarget = "tenon_cpu_dot";

// ── in programs ──

// Below it, putting an operand in order costs too much of what multiplying saves.
constexpr int64_t kFewest = 64;

std::string refuse_dot(const KernelUse& use) {
  const TensorType &lhs = use.operands[0], &rhs = use.operands[1], &out = use.results[0];
  for (const DType dtype : {lhs.dtype, out.dtype}) {
    if (dtype != DType::f32 && dtype != DType::bf16) return fmt::format("takes f32 and bf16, not {}", to_string(dtype));
  }
  const bool one_sum = use.attrs().dims("lhs_contract").size() == 1 && use.attrs().dims("lhs_batch").empty();
  if (lhs.rank() != 2 || rhs.rank() != 2 || !one_sum) return "takes products of matrices only";
  const auto depth_at = static_cast<size_t>(use.attrs().dims("lhs_contract")[0]);
  if (lhs.dtype == DType::f32 && depth_at == 0) return "of f32, a left side by columns is as fast with the compiler";
  for (const int64_t size : {out.dims[0], out.dims[1], lhs.dims[depth_at]}) {
    if (size < kFewest) return fmt::format("a dimension of {} is too small to pay", size);
  }
  if (!has_dot()) return "this machine has no AVX512-BF16";
  return {};
}

Element element_of(DType dtype) { return dtype == DType::f32 ? Element::f32 : Element::bf16; }

// What it computes in is a result that nobody reads: so the compiler finds room for it and counts it.
std::vector<Tensor> lower(const KernelUse& use, const std::vector<Tensor>& operands) {
  const TensorType &lhs = use.operands[0], &out = use.results[0];
  const bool lhs_by_depth = use.attrs().dims("lhs_contract")[0] == 0,
             rhs_by_depth = use.attrs().dims("rhs_contract")[0] == 0;
  const DotShape shape{out.dims[0],  out.dims[1],           lhs.dims[lhs_by_depth ? 0 : 1], lhs_by_depth,
                       rhs_by_depth, element_of(lhs.dtype), element_of(out.dtype)};
  const std::string attributes = fmt::format(
      "api_version = 4 : i32, backend_config = {{lhs_by_depth = {}, rhs_by_depth = {}}}, "
      "operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], "
      "result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]",
      lhs_by_depth, rhs_by_depth);
  return {custom_call({kTarget, attributes}, operands, {out, {DType::u32, {dot_scratch_words(shape)}}})[0]};
}

// ── when they run ──

Element element_of(ffi::DataType dtype) { return dtype == ffi::F32 ? Element::f32 : Element::bf16; }

ffi::Error run(ffi::ThreadPool pool, ffi::AnyBuffer lhs, ffi::AnyBuffer rhs, ffi::Result<ffi::AnyBuffer> result,
               ffi::ResultBuffer<ffi::U32> scratch, bool lhs_by_depth, bool rhs_by_depth) {
  const auto out = result->dimensions();
  const DotShape shape{out[0],
                       out[1],
                       lhs.dimensions()[lhs_by_depth ? 0 : 1],
                       lhs_by_depth,
                       rhs_by_depth,
                       element_of(lhs.element_type()),
                       element_of(result->element_type())};
  dot(shape, {lhs.untyped_data(), rhs.untyped_data(), result->untyped_data(), scratch->typed_data()}, workers_of(pool));
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER(kDot, run,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Ret<ffi::Buffer<ffi::U32>>()
                           .Attr<bool>("lhs_by_depth")
                           .Attr<bool>("rhs_by_depth"));

}  // namespace

KernelList dot_kernels() {
  return {{"dot_general", "cpu_dot", refuse_dot, lower,
           "with AVX512-BF16: matrices of bf16, in all four forms, and of f32, unless the left side is contracted over "
           "its first dimension (gradients of weights); sums in f32; each dimension at least 64; on one device"}};
}

std::map<std::string, void*> dot_handlers() { return {{kTarget, reinterpret_cast<void*>(kDot)}}; }

}  // namespace tenon
