// Grids of programs over a machine: Triton's, and Mosaic's with its windows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "tenon/base/error.h"
#include "tenon/kernels/testing/block_machine.h"

namespace tenon {
namespace {

using Blocks = std::vector<MachineBlock>;

// What stands in quotes after `name`, without MLIR's escapes.
std::string quoted_after(const std::string& text, std::string_view name) {
  const size_t at = text.find(name);
  if (at == std::string::npos) throw Error(ErrorCode::invalid_argument, fmt::format("no {}", name));
  std::string out;
  for (size_t i = at + name.size(); text[i] != '"'; ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  return out;
}

std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text.substr(0, text.find('='))) {
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    count += 6;
    if (count >= 8) out += static_cast<char>(bits >> (count -= 8) & 255);
  }
  return out;
}

std::vector<Literal> arrays_of_nan(std::span<const TensorType> types) {
  std::vector<Literal> out;
  for (const TensorType& type : types) {
    out.emplace_back(type);
    for (int64_t i = 0; i < out.back().size(); ++i) out.back().set(i, NAN);
  }
  return out;
}

KernelRun run_triton(const std::string& attributes, std::span<const Literal> operands,
                     std::span<const TensorType> results) {
  const std::vector<MlirOp> module = parse_mlir(quoted_after(attributes, "ir = \""));
  std::vector<Literal> arrays(operands.begin(), operands.end());
  for (Literal& out : arrays_of_nan(results)) arrays.push_back(std::move(out));
  Blocks arguments;
  for (Literal& array : arrays) arguments.push_back({{}, {0}, &array, nullptr});
  const auto grid = [&](const char* axis) { return numbers_in(attributes.substr(attributes.find(axis))).at(0); };
  KernelRun out;
  for (int64_t z = 0; z < grid("grid_z"); ++z) {
    for (int64_t y = 0; y < grid("grid_y"); ++y) {
      for (int64_t x = 0; x < grid("grid_x"); ++x) {
        BlockMachine machine;
        machine.program = {x, y, z};
        machine.run(module.at(0).regions.at(0), arguments);
        out.num_products += machine.num_products;
      }
    }
  }
  out.results.assign(arrays.begin() + static_cast<std::ptrdiff_t>(operands.size()), arrays.end());
  return out;
}

// An array seen through a block that moves.
struct Window {
  Literal* array;
  Dims block;
  const MlirOp* index;
  bool output;
  MachineBlock memory;
  std::optional<Dims> at;       // which block the memory holds
  std::vector<Dims> left = {};  // outputs: blocks written back

  // Calls `f` with each element of a block and its place in the array.
  void each(const Dims& where, const std::function<void(size_t, int64_t)>& f) const {
    for (int64_t i = 0; i < num_elements(block); ++i) {
      int64_t rest = i, place = 0, stride = 1;
      for (size_t d = block.size(); d-- > 0;) {
        const int64_t at_dim = where[d] * block[d] + rest % block[d];
        if (at_dim < 0 || at_dim >= array->dims()[d])
          throw Error(ErrorCode::invalid_argument, "a window leaves its array");
        place += at_dim * stride;
        stride *= array->dims()[d];
        rest /= block[d];
      }
      f(static_cast<size_t>(i), place);
    }
  }
  void write_back() {
    if (!output || !at) return;
    if (std::find(left.begin(), left.end(), *at) != left.end())
      throw Error(ErrorCode::invalid_argument, "a block of a result is come back to");
    left.push_back(*at);
    each(*at, [&](size_t i, int64_t place) { array->set(place, (*memory.memory)[i]); });
  }
  void move(const Dims& to) {
    if (at == to) return;
    write_back();
    at = to;
    std::fill(memory.memory->begin(), memory.memory->end(), NAN);
    if (!output) each(to, [&](size_t i, int64_t place) { (*memory.memory)[i] = array->as_double(place); });
  }
};

MachineBlock memory(const Dims& dims) {
  const auto size = static_cast<size_t>(num_elements(dims));
  return {dims, std::vector<double>(size), nullptr, std::make_shared<std::vector<double>>(size, NAN)};
}

class TpuKernel {
 public:
  TpuKernel(const std::string& text, std::span<const Literal> operands, std::span<const TensorType> results)
      : module_(parse_mlir(text)), arrays_(operands.begin(), operands.end()), num_operands_(operands.size()) {
    for (Literal& out : arrays_of_nan(results)) arrays_.push_back(std::move(out));
    const MlirOp& f = module_.at(0);
    grid_ = f.numbers("iteration_bounds");
    const auto prefetched = static_cast<size_t>(f.integer("scalar_prefetch"));
    for (size_t i = 0; i < prefetched; ++i) {
      prefetched_.push_back(memory(arrays_[i].dims()));
      *prefetched_.back().memory = arrays_[i].to_doubles();
    }
    const std::vector<BlockType>& types = f.regions.at(0).types;
    for (size_t i = prefetched; i < arrays_.size(); ++i) {
      const Dims& block = types.at(grid_.size() + i).dims;
      windows_.push_back({&arrays_[i], block, &module_.at(1 + i - prefetched), i >= num_operands_, memory(block), {}});
    }
    const auto scratch = static_cast<size_t>(f.integer("scratch_operands"));
    for (size_t i = types.size() - scratch; i < types.size(); ++i) scratch_.push_back(memory(types[i].dims));
    const std::string semantics = f.attribute("dimension_semantics");
    for (size_t at = 0; (at = semantics.find("<parallel>", at)) != std::string::npos; ++at) ++num_parallel_;
  }

  KernelRun run() {
    Dims place(grid_.size(), 0);
    const int64_t count = num_elements(grid_);
    for (int64_t n = 0; n < count; ++n) {
      int64_t rest = n;
      Dims next(grid_.size());
      for (size_t d = grid_.size(); d-- > 0; rest /= grid_[d]) next[d] = rest % grid_[d];
      // Programs that are parallel may be on different cores: nothing goes from one to the other.
      if (!std::equal(next.begin(), next.begin() + num_parallel_, place.begin())) forget();
      place = next;
      program(place);
    }
    for (Window& w : windows_) w.write_back();
    return {{arrays_.begin() + static_cast<std::ptrdiff_t>(num_operands_), arrays_.end()}, num_products_};
  }

 private:
  void forget() {
    for (MachineBlock& m : scratch_) std::fill(m.memory->begin(), m.memory->end(), NAN);
  }
  void program(const Dims& place) {
    Blocks arguments;
    for (const int64_t i : place) arguments.push_back({{}, {static_cast<double>(i)}, nullptr, nullptr});
    arguments.insert(arguments.end(), prefetched_.begin(), prefetched_.end());
    for (Window& w : windows_) {
      Dims to;
      for (const MachineBlock& b : BlockMachine().run(w.index->regions.at(0), arguments))
        to.push_back(static_cast<int64_t>(b.data.at(0)));
      w.move(to);
    }
    for (const Window& w : windows_) arguments.push_back(w.memory);
    arguments.insert(arguments.end(), scratch_.begin(), scratch_.end());
    BlockMachine machine;
    machine.run(module_.at(0).regions.at(0), arguments);
    num_products_ += machine.num_products;
  }

  std::vector<MlirOp> module_;
  std::vector<Literal> arrays_;
  size_t num_operands_;
  Dims grid_;
  int64_t num_parallel_ = 0, num_products_ = 0;
  Blocks prefetched_, scratch_;
  std::vector<Window> windows_;
};

}  // namespace

KernelRun run_kernel(std::string_view target, const std::string& attributes, std::span<const Literal> operands,
                     std::span<const TensorType> results) {
  if (target == "__gpu$xla.gpu.triton") return run_triton(attributes, operands, results);
  if (target != "tpu_custom_call") throw Error(ErrorCode::unsupported, fmt::format("can't run '{}'", target));
  const std::string config = quoted_after(attributes, "backend_config = \"");
  return TpuKernel(from_base64(quoted_after(config, "\"body\": \"")), operands, results).run();
}

}  // namespace tenon
