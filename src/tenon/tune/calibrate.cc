#include "tenon/tune/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops.h"
#include "tenon/runtime/jit.h"
#include "tenon/tune/processor_time.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;
using DeviceFn = std::function<Tensor(const Tensor&)>;

constexpr int kRuns = 7;

// What one device does over and over, and to what.
struct Load {
  TensorType piece;  // of one device
  int64_t trips = 0;
  DeviceFn trip;
};

struct Timing {
  StepCounts counts;
  double seconds = 0;
};

class Calibration {
 public:
  explicit Calibration(int64_t num_devices)
      : mesh_{{"data", num_devices}},
        machine_(AotMachine::open(AotTarget::parse(fmt::format("cpu:{}", num_devices)))),
        backend_(Backend::open(fmt::format("cpu:{}", num_devices))) {}

  Timing time(const Load& load) const {
    const Program program = program_of(load);
    StepReport report;
    report.mesh = mesh_;
    report.chip.platform = "cpu";
    report.compiled = machine_.compile(mesh_, program);
    if (!report.compiled->optimized) {
      throw Error(ErrorCode::unsupported,
                  "the CPU's plugin doesn't show its programs, so its speeds can't be measured");
    }
    report.collectives = count_collectives(*report.compiled->optimized, mesh_);
    Timing out{count_step(report), std::numeric_limits<double>::infinity()};
    const Executable executable = compile(backend_, mesh_, program);
    const std::vector<Array> args = {
        Array::from_literal(backend_, mesh_, program.arg_specs[0], filled(program.arg_types[0]))};
    for (int run = 0; run <= kRuns; ++run) {
      const double start = processor_seconds();
      for (const Array& result : executable(args)) result.wait();
      if (run > 0) out.seconds = std::min(out.seconds, processor_seconds() - start);  // the first warms up
    }
    out.seconds /= processors_for(mesh_.num_devices());
    return out;
  }

 private:
  static Literal filled(const TensorType& type) {
    Literal out(type);
    for (int64_t i = 0; i < out.size(); ++i) out.set(i, std::sin(static_cast<double>(i)));
    return out;
  }
  Program program_of(const Load& load) const {
    TensorType whole = load.piece;
    whole.dims[0] *= mesh_.num_devices();
    const auto loop = [&](const Tensors& pieces) {
      const auto body = [&](const Tensor&, const Tensor& x, const Tensors&) {
        return std::pair{load.trip(x), Tensors{}};
      };
      return Tensors{scan(body, pieces[0], Tensors{}, load.trips).first};
    };
    Graph graph = make_graph(std::vector{whole},
                             [&](const Tensors& p) { return manual(mesh_, p, {{"data"}}, {{"data"}}, loop); });
    ProgramSpec spec;
    spec.mesh = mesh_;
    spec.param_specs = spec.result_specs = {{"data"}};
    return make_program(graph, spec);
  }

  Mesh mesh_;
  AotMachine machine_;
  std::shared_ptr<const Backend> backend_;
};

// Rows of mean square 1, so that nothing grows or dies away over many trips.
Tensor normed(const Tensor& x) { return x * rsqrt(mean_keep(x * x, {1})); }

// Several instructions of microseconds: a product, reductions, elementwise ones.
Load small_load() {
  return {{DType::f32, {32, 32}}, 1000, [](const Tensor& x) { return normed(matmul(x, x)); }};
}
Load product_load(DType dtype) {
  return {{dtype, {256, 256}}, 24, [](const Tensor& x) { return normed(matmul(x, x)); }};
}
Load array_load() {
  return {{DType::f32, {1024, 256}}, 12, [](const Tensor& x) {
            const Tensor y = normed(x);
            return y * logistic(y);
          }};
}
Load reduce_load(int64_t rows, int64_t trips, int64_t num_devices) {
  return {{DType::f32, {rows, 1024}}, trips, [=](const Tensor& x) {
            return all_reduce_sum(x, "data") * (1.0 / static_cast<double>(num_devices));
          }};
}

// Seconds beyond what is known of a program; at least a tenth of all, so that noise gives no absurd speed.
double unexplained(const Timing& timing, const MachineSpeeds& speeds) {
  return std::max(timing.seconds - time_step(timing.counts, speeds).sum(), timing.seconds / 10);
}

}  // namespace

MachineSpeeds calibrate_cpu(int64_t num_devices) {
  const Calibration calibration(num_devices);
  MachineSpeeds out;
  out.source = fmt::format("measured on cpu:{}", num_devices);
  const Timing small = calibration.time(small_load());
  out.instruction_s = small.seconds / small.counts.instructions;
  const Timing arrays = calibration.time(array_load());
  out.memory = (arrays.counts.other_bytes + arrays.counts.product_bytes) / unexplained(arrays, out);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Timing products = calibration.time(product_load(dtype));
    double flops = 0;
    for (const auto& [counted, count] : products.counts.products) flops += count;
    MachineSpeeds others = out;
    others.peaks.clear();  // another dtype's would explain what is looked for
    out.peaks[dtype] = flops / unexplained(products, others);
  }
  if (num_devices == 1) return out;
  const Timing few = calibration.time(reduce_load(1, 200, num_devices));
  out.collective_s = unexplained(few, out) / few.counts.collectives;
  const Timing many = calibration.time(reduce_load(1024, 4, num_devices));
  out.links = many.counts.link_bytes / unexplained(many, out);
  return out;
}

}  // namespace tenon
