// Runs the text of our kernels, on the host and slowly: what it says is what a GPU or a TPU would compute.
//
// Each op is done in double and rounded to its type. Memory that wasn't written holds NaN, so that reading it shows.
// Reading or writing outside of an array throws `invalid_argument`.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "tenon/base/literal.h"
#include "tenon/kernels/testing/mlir_parser.h"

namespace tenon {

// Elements, addresses (element numbers in one array), or memory.
struct MachineBlock {
  Dims dims;
  std::vector<double> data;
  Literal* array = nullptr;                     // what addresses are in
  std::shared_ptr<std::vector<double>> memory;  // a window, of `dims`

  int64_t size() const { return static_cast<int64_t>(data.size()); }
};

class BlockMachine {
 public:
  // Names of one run of a function, with what it calls.
  using Values = std::map<std::string, MachineBlock, std::less<>>;

  // Runs a region whose parameters have these values; what its last op is given.
  std::vector<MachineBlock> run(const MlirRegion& region, std::vector<MachineBlock> arguments);

  Dims program;              // Triton's program ids
  int64_t num_products = 0;  // of matrices so far

 private:
  std::vector<MachineBlock> step(const MlirOp& op, const std::vector<const MachineBlock*>& in);
  std::vector<MachineBlock> loop(const MlirOp& op, const std::vector<const MachineBlock*>& in);
  MachineBlock product(const MlirOp& op, const std::vector<const MachineBlock*>& in, bool transposed);
  MachineBlock reduce(const MlirOp& op, const MachineBlock& x);

  Values values_;
};

// Calls of kernels in a program, as select_kernels leaves them there.
struct KernelRun {
  std::vector<Literal> results;
  int64_t num_products = 0;
};
// `target` and `attributes` of the custom call. Throws `unsupported` for other targets.
KernelRun run_kernel(std::string_view target, const std::string& attributes, std::span<const Literal> operands,
                     std::span<const TensorType> results);

}  // namespace tenon
