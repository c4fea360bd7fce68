#include "tenon/aot/liveness.h"

#include <algorithm>
#include <array>
#include <optional>

#include "tenon/aot/hlo_runs.h"

namespace tenon {
namespace {

using pjrt::HloComputation;
using pjrt::HloInstruction;
using pjrt::HloModule;
using pjrt::HloShape;

constexpr size_t kNever = ~size_t{0};
constexpr int64_t kMostBytes = int64_t{1} << 42;

void add_leaves(const HloShape& shape, std::vector<const HloShape*>& out) {
  if (!shape.is_tuple) {
    out.push_back(&shape);
    return;
  }
  for (const HloShape& m : shape.members) add_leaves(m, out);
}
std::vector<const HloShape*> leaves_of(const HloShape& shape) {
  std::vector<const HloShape*> out;
  add_leaves(shape, out);
  return out;
}

bool is_learner(std::string_view op) { return op.starts_with("learner/") || op.starts_with("learner."); }

// The buffers of one computation.
class Computation {
 public:
  using Values = std::vector<size_t>;  // buffers of an instruction's leaves

  Computation(const HloModule& module, const HloComputation& c, const std::vector<PeakMemory>& inner)
      : module_(module), c_(c), inner_(inner) {}

  PeakMemory peak() {
    for (size_t i = 0; i < c_.instructions.size(); ++i) {
      at_ = i;
      values_.push_back(values_of(c_.instructions[i]));
      use_operands(c_.instructions[i]);
    }
    // What a computation gives back lies where its caller wants it.
    for (const size_t b : values_[c_.root]) buffers_[b].bytes = 0;
    return walk();
  }

 private:
  struct Buffer {
    int64_t bytes = 0;
    size_t first = 0, last = 0;
    bool read_by_learner = false;
    size_t written_by = kNever;  // the first loop that writes it
    bool saved = false;
    std::string op;  // where its instruction doesn't say: of the loop's update
  };

  size_t add_buffer(const HloShape& shape, bool external) {
    const bool counts = !external && shape.memory_space == 0;
    buffers_.push_back({counts ? std::min(kMostBytes, shape.bytes()) : 0, at_, at_});
    return buffers_.size() - 1;
  }
  Values fresh(const HloShape& shape, bool external = false) {
    Values out;
    for (const HloShape* leaf : leaves_of(shape)) out.push_back(add_buffer(*leaf, external));
    return out;
  }
  const Values& operand(const HloInstruction& i, size_t number) const { return values_[i.operands.at(number)]; }
  // The leaves of member `index` of operand 0, a tuple.
  Values member(const HloInstruction& i, size_t index) const {
    const HloShape& shape = c_.instructions[i.operands.at(0)].shape;
    const Values& all = operand(i, 0);
    size_t begin = 0;
    for (size_t m = 0; m < index && m < shape.members.size(); ++m) begin += leaves_of(shape.members[m]).size();
    const size_t count = index < shape.members.size() ? leaves_of(shape.members[index]).size() : 0;
    if (begin + count > all.size()) return {};
    return Values(all.begin() + static_cast<std::ptrdiff_t>(begin),
                  all.begin() + static_cast<std::ptrdiff_t>(begin + count));
  }
  // Of all operands, one behind another; none unless they are `count`.
  std::optional<Values> operand_leaves(const HloInstruction& i, size_t count) const {
    size_t sum = 0;
    for (size_t o = 0; o < i.operands.size() && sum <= count; ++o) sum += operand(i, o).size();
    if (sum != count) return std::nullopt;
    Values out;
    for (size_t o = 0; o < i.operands.size(); ++o) out.insert(out.end(), operand(i, o).begin(), operand(i, o).end());
    return out;
  }
  // Of a copy that isn't one, where the leaves match.
  Values same_as(const Values& values, const HloInstruction& i) {
    return values.size() == leaves_of(i.shape).size() ? values : fresh(i.shape);
  }

  Values values_of(const HloInstruction& i) {
    const std::string_view op = i.opcode;
    if (op == "parameter" || op == "constant") return fresh(i.shape, true);
    if (i.operands.empty()) return fresh(i.shape);
    if (op == "get-tuple-element") return same_as(member(i, static_cast<size_t>(i.tuple_index)), i);
    if (op == "tuple") {
      std::optional<Values> all = operand_leaves(i, leaves_of(i.shape).size());
      return all ? std::move(*all) : fresh(i.shape);
    }
    const bool in_place = op == "bitcast" || op == "while" || op == "optimization-barrier" || op == "domain" ||
                          op == "dynamic-update-slice" || op == "all-reduce-done" || op == "add-dependency";
    if (in_place) return same_as(operand(i, 0), i);
    if (op.ends_with("-start")) return started(i);
    if (op.ends_with("-done")) return same_as(member(i, op == "copy-done" ? 0 : 1), i);
    if (op == "fusion" && !i.called.empty()) return fused(i, module_.computations[i.called[0]]);
    return fresh(i.shape);
  }

  // What is started holds its operands beside its results: (operands, results, …); a copy (result, operand, …).
  Values started(const HloInstruction& i) {
    if (!i.shape.is_tuple || i.shape.members.size() < 2 || i.opcode == "all-reduce-start") return fresh(i.shape);
    const size_t held = i.opcode == "copy-start" ? 1 : 0;
    const std::optional<Values> operands = operand_leaves(i, leaves_of(i.shape.members[held]).size());
    Values out;
    for (size_t m = 0; m < i.shape.members.size(); ++m) {
      const Values values = m == held && operands ? *operands : fresh(i.shape.members[m], m > 1);
      out.insert(out.end(), values.begin(), values.end());
    }
    return out;
  }

  // Results that update a slice of an operand lie in its place.
  Values fused(const HloInstruction& i, const HloComputation& inner) {
    const HloInstruction& root = inner.instructions[inner.root];
    const std::vector<size_t> results = root.opcode == "tuple" ? root.operands : std::vector<size_t>{inner.root};
    const std::vector<const HloShape*> leaves = leaves_of(i.shape);
    if (results.size() != leaves.size()) return fresh(i.shape);
    Values out;
    for (size_t r = 0; r < results.size(); ++r) {
      const std::optional<size_t> place = updated_parameter(inner, results[r]);
      const bool known = place && *place < i.operands.size() && operand(i, *place).size() == 1;
      out.push_back(known ? operand(i, *place)[0] : add_buffer(*leaves[r], false));
    }
    return out;
  }
  static std::optional<size_t> updated_parameter(const HloComputation& c, size_t place) {
    const HloInstruction& update = c.instructions[behind_bitcasts(c, place)];
    if (update.opcode != "dynamic-update-slice" || update.operands.empty()) return std::nullopt;
    const HloInstruction& updated = c.instructions[behind_bitcasts(c, update.operands[0])];
    if (updated.opcode != "parameter") return std::nullopt;
    return static_cast<size_t>(updated.parameter_number);
  }

  void use_operands(const HloInstruction& i) {
    static constexpr std::array<std::string_view, 4> kPass = {"tuple", "get-tuple-element", "bitcast", "while"};
    const bool reads = std::find(kPass.begin(), kPass.end(), i.opcode) == kPass.end();
    for (const size_t o : i.operands) {
      for (const size_t b : values_[o]) {
        buffers_[b].last = at_;
        if (reads && is_learner(i.op_name)) buffers_[b].read_by_learner = true;
      }
    }
    if (i.opcode == "while") pass_loop(i);
  }

  // The first loop that writes a buffer, and any later one.
  void pass_loop(const HloInstruction& loop) {
    if (loop.called.empty() || loop.operands.empty()) return;
    const HloComputation& body = module_.computations[loop.called[0]];
    const HloInstruction& root = body.instructions[body.root];
    const Values& carry = operand(loop, 0);
    if (root.opcode != "tuple" || root.operands.size() != carry.size()) return;
    for (size_t k = 0; k < carry.size(); ++k) {
      Buffer& b = buffers_[carry[k]];
      const HloInstruction& next = body.instructions[root.operands[k]];
      const bool kept = next.opcode == "get-tuple-element" && next.tuple_index == static_cast<int64_t>(k);
      if (b.written_by != kNever) b.saved = true;
      if (kept || b.written_by != kNever) continue;
      b.written_by = at_;
      if (module_of(c_.instructions[b.first].op_name).empty()) b.op = name_of(next);
    }
  }

  // A fusion whose root has no module's name has one of what it holds. Compilers' own names are no modules'.
  std::string name_of(const HloInstruction& i) const {
    const auto is_named = [](const HloInstruction& x) { return !module_of(x.op_name).empty(); };
    if (is_named(i) || i.opcode != "fusion" || i.called.empty()) return i.op_name;
    const std::vector<HloInstruction>& inner = module_.computations[i.called[0]].instructions;
    const auto named = std::find_if(inner.rbegin(), inner.rend(), is_named);
    return named == inner.rend() ? std::string() : named->op_name;
  }

  BufferRole role_of(const Buffer& b) const {
    if (b.read_by_learner && !is_learner(c_.instructions[b.first].op_name)) return BufferRole::gradient;
    return b.saved ? BufferRole::saved_activation : BufferRole::temporary;
  }

  // An instruction that computes element by element may write over an operand of the same size that ends with it.
  int64_t reused(const HloInstruction& i, const std::vector<size_t>& ending) const {
    if (i.opcode != "fusion" && i.operands.size() > 3) return 0;
    if (i.opcode == "dot" || i.opcode == "custom-call" || i.opcode == "while" || i.opcode == "convolution") return 0;
    for (const size_t b : ending) {
      for (const size_t own : values_[at_]) {
        if (buffers_[own].first == at_ && buffers_[own].bytes > 0 && buffers_[b].bytes == buffers_[own].bytes)
          return buffers_[own].bytes;
      }
    }
    return 0;
  }

  PeakMemory walk() {
    std::vector<std::vector<size_t>> starting(c_.instructions.size()), ending(c_.instructions.size());
    for (size_t b = 0; b < buffers_.size(); ++b) {
      if (buffers_[b].bytes == 0) continue;
      starting[buffers_[b].first].push_back(b);
      ending[buffers_[b].last].push_back(b);
    }
    PeakMemory best;
    size_t best_at = kNever;
    const PeakMemory* best_inner = nullptr;
    int64_t live = 0;
    for (at_ = 0; at_ < c_.instructions.size(); ++at_) {
      for (const size_t b : starting[at_]) live += buffers_[b].bytes;
      const PeakMemory* inner = inner_peak(c_.instructions[at_]);
      std::vector<size_t> old;
      for (const size_t b : ending[at_]) {
        if (buffers_[b].first != at_) old.push_back(b);
      }
      const int64_t now = live + (inner == nullptr ? 0 : inner->bytes) - reused(c_.instructions[at_], old);
      if (now > best.bytes) {
        best.bytes = now;
        best_at = at_;
        best_inner = inner;
      }
      for (const size_t b : ending[at_]) live -= buffers_[b].bytes;
    }
    if (best_at == kNever) return best;
    for (const Buffer& b : buffers_) {
      if (b.bytes > 0 && b.first <= best_at && b.last >= best_at) {
        best.buffers.push_back({b.bytes, b.op.empty() ? name_of(c_.instructions[b.first]) : b.op, role_of(b)});
      }
    }
    if (best_inner != nullptr) {
      best.buffers.insert(best.buffers.end(), best_inner->buffers.begin(), best_inner->buffers.end());
    }
    return best;
  }

  // Of a loop's body, a branch, a call: what it needs beside its operands and results.
  const PeakMemory* inner_peak(const HloInstruction& i) const {
    const PeakMemory* most = nullptr;
    for (const size_t callee : runs_callees(i) ? i.called : std::vector<size_t>()) {
      if (most == nullptr || inner_[callee].bytes > most->bytes) most = &inner_[callee];
    }
    return most;
  }

  const HloModule& module_;
  const HloComputation& c_;
  const std::vector<PeakMemory>& inner_;
  std::vector<Values> values_;
  std::vector<Buffer> buffers_;
  size_t at_ = 0;
};

}  // namespace

std::string_view to_string(BufferRole role) {
  switch (role) {
    case BufferRole::gradient:
      return "gradients";
    case BufferRole::saved_activation:
      return "saved activations";
    case BufferRole::temporary:
      break;
  }
  return "temporaries";
}

int64_t PeakMemory::of(BufferRole role) const {
  int64_t sum = 0;
  for (const LiveBuffer& b : buffers) sum += b.role == role ? b.bytes : 0;
  return sum;
}

PeakMemory find_peak(const HloModule& module) {
  std::vector<PeakMemory> peaks(module.computations.size());
  for (size_t c = 0; c < module.computations.size(); ++c) {
    peaks[c] = Computation(module, module.computations[c], peaks).peak();
  }
  PeakMemory out = std::move(peaks[module.entry]);
  std::stable_sort(out.buffers.begin(), out.buffers.end(),
                   [](const LiveBuffer& a, const LiveBuffer& b) { return a.bytes > b.bytes; });
  return out;
}

std::string_view module_of(std::string_view op) {
  constexpr std::string_view kManual = "/manual/";
  if (op.starts_with('(')) op = op.substr(1, op.find_first_of(":)") - 1);
  if (const size_t manual = op.rfind(kManual); manual != std::string_view::npos)
    op.remove_prefix(manual + kManual.size());
  const size_t slash = op.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : op.substr(0, slash);
}

}  // namespace tenon
