#include "tenon/kernels/cpu/matmul_call.h"

#include <fmt/format.h>

#include <optional>

#include "tenon/kernels/cpu/ffi_support.h"
#include "tenon/kernels/cpu/matmul.h"

namespace tenon {
namespace {

namespace ffi = xla::ffi;

constexpr const char* kTarget = "tenon_cpu_matmul";
// Below so many multiplications the compiler's product, fused with what is around it, is as good.
constexpr double kFewest = 1 << 22;

// Whether the contracted dimensions are the first (true) or the last ones, in order.
std::optional<bool> contracted_first(const Dims& contract, int64_t rank) {
  const auto count = static_cast<int64_t>(contract.size());
  bool first = count > 0, last = count > 0;
  for (int64_t i = 0; i < count; ++i) {
    first = first && contract[static_cast<size_t>(i)] == i;
    last = last && contract[static_cast<size_t>(i)] == rank - count + i;
  }
  if (last) return false;
  return first ? std::optional(true) : std::nullopt;
}

std::optional<MatmulShape> shape_of(const KernelUse& use) {
  const TensorType &a = use.operands[0], &b = use.operands[1];
  const auto a_first = contracted_first(use.attrs().dims("lhs_contract"), a.rank());
  const auto b_first = contracted_first(use.attrs().dims("rhs_contract"), b.rank());
  if (!a_first || !b_first) return {};
  int64_t K = 1;
  for (const int64_t d : use.attrs().dims("lhs_contract")) K *= a.dims[static_cast<size_t>(d)];
  if (K == 0) return {};
  return MatmulShape{num_elements(a.dims) / K, num_elements(b.dims) / K, K, *a_first, !*b_first};
}

std::string refuse(const KernelUse& use) {
  for (const TensorType& t : {use.operands[0], use.operands[1], use.results[0]}) {
    if (t.dtype != DType::f32) return fmt::format("takes f32, not {}", to_string(t.dtype));
  }
  if (!use.attrs().dims("lhs_batch").empty()) return "takes one product, not a batch of them";
  const std::optional<MatmulShape> s = shape_of(use);
  if (!s) return "the contracted dimensions are neither the first nor the last ones";
  const double size = static_cast<double>(s->M) * static_cast<double>(s->N) * static_cast<double>(s->K);
  return s->M < 6 || s->N < 16 || size < kFewest ? "too small to pay" : "";
}

CustomCall call(const KernelUse& use) {
  const MatmulShape s = *shape_of(use);
  return {kTarget, fmt::format("api_version = 4 : i32, backend_config = {{M = {} : i64, N = {} : i64, K = {} : i64, "
                               "a_transposed = {}, b_transposed = {}}}",
                               s.M, s.N, s.K, s.a_transposed, s.b_transposed)};
}

using Floats = ffi::Buffer<ffi::F32>;

ffi::Error run(ffi::ThreadPool pool, Floats a, Floats b, ffi::ResultBuffer<ffi::F32> c, int64_t M, int64_t N, int64_t K,
               bool a_transposed, bool b_transposed) {
  matmul({M, N, K, a_transposed, b_transposed}, a.typed_data(), b.typed_data(), c->typed_data(), workers_of(pool));
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER(kHandler, run,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<Floats>()
                           .Arg<Floats>()
                           .Ret<Floats>()
                           .Attr<int64_t>("M")
                           .Attr<int64_t>("N")
                           .Attr<int64_t>("K")
                           .Attr<bool>("a_transposed")
                           .Attr<bool>("b_transposed"));

}  // namespace

KernelList matmul_kernels() { return {{"dot_general", "cpu_matmul", refuse, call}}; }

std::map<std::string, void*> matmul_handlers() { return {{kTarget, reinterpret_cast<void*>(kHandler)}}; }

}  // namespace tenon
