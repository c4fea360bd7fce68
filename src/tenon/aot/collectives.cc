#include "tenon/aot/collectives.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "tenon/aot/hlo_runs.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

using pjrt::HloComputation;
using pjrt::HloInstruction;

constexpr std::array<std::string_view, 7> kKinds = {"all-gather",           "all-reduce",         "all-to-all",
                                                    "collective-broadcast", "collective-permute", "ragged-all-to-all",
                                                    "reduce-scatter"};

// Who takes part: groups of devices, or pairs of a permutation.
struct Members {
  std::vector<std::vector<int64_t>> groups;
  int64_t size = 1;        // of a group
  int64_t per_island = 1;  // of a group's devices, the most in one island
  std::string axes;
};

class Places {
 public:
  // `of_slice`: numbers in a program are places in a slice.
  Places(const Mesh& mesh, int64_t island, bool of_slice)
      : mesh_(mesh),
        island_(island > 0 ? island : mesh.num_devices()),
        devices_(static_cast<size_t>(mesh.num_devices())) {
    for (int64_t d = 0; d < mesh.num_devices(); ++d) {
      devices_[static_cast<size_t>(of_slice ? mesh.physical_device(d) : d)] = d;
    }
  }

  Members of(const HloInstruction& i) const {
    Members out;
    if (!i.source_targets.empty()) {
      for (const auto& [from, to] : i.source_targets) out.groups.push_back({from, to});
    } else {
      out.groups = i.groups.expand();
      if (out.groups.empty()) {
        std::vector<int64_t>& all = out.groups.emplace_back();
        for (int64_t d = 0; d < mesh_.num_devices(); ++d) all.push_back(d);
      }
    }
    describe(out, !i.source_targets.empty());
    return out;
  }

 private:
  void describe(Members& m, bool pairs) const {
    std::array<bool, kMeshAxes.size()> varies{};
    bool crosses = false;
    for (const std::vector<int64_t>& group : m.groups) {
      m.size = std::max(m.size, static_cast<int64_t>(group.size()));
      std::map<int64_t, int64_t> islands;
      for (const int64_t number : group) {
        if (number < 0 || number >= mesh_.num_devices()) {
          m.axes = "unknown";
          return;
        }
        const int64_t device = device_of(number);
        m.per_island = std::max(m.per_island, ++islands[mesh_.physical_device(device) / island_]);
        const Mesh::Sizes here = mesh_.coordinates(device), first = mesh_.coordinates(device_of(group.front()));
        for (size_t a = 0; a < here.size(); ++a) varies[a] = varies[a] || here[a] != first[a];
      }
      crosses = crosses || islands.size() > 1;
    }
    std::vector<std::string> names;
    int64_t product = 1;
    for (size_t a = 0; a < varies.size(); ++a) {
      if (!varies[a]) continue;
      names.emplace_back(kMeshAxes[a]);
      product *= mesh_.sizes()[a];
    }
    m.axes = (pairs || product == m.size ? "" : "part of ") + join(names, "+");
    // One pair that crosses is what the others wait for.
    if (pairs) m.size = product;
    if (pairs && crosses) m.per_island = 1;
  }
  int64_t device_of(int64_t number) const { return devices_[static_cast<size_t>(number)]; }

  const Mesh& mesh_;
  int64_t island_;
  std::vector<int64_t> devices_;  // of the mesh, by the program's numbers
};

// Some compilers write a reduce-scatter as an all-reduce and a slice in a computation of this name.
bool is_fused_reduce_scatter(const HloComputation& c) { return c.name.find("all-reduce-scatter") != std::string::npos; }

struct Bytes {
  double payload = 0, link = 0, network = 0;
};

// `operand`: bytes that one device puts in. n devices of which k are in an island.
Bytes traffic(std::string_view kind, double operand, double n, double k) {
  if (kind == "all-gather") return {operand * n, operand * (k - 1) * (n / k), operand * n * (1 - k / n) / k};
  if (kind == "reduce-scatter") return {operand, operand * (1 - 1 / k), operand * (1 - k / n) / k};
  if (kind == "all-reduce") return {operand, 2 * operand * (1 - 1 / k), 2 * operand * (1 - k / n) / k};
  if (kind == "collective-permute") return k > 1 ? Bytes{operand, operand, 0} : Bytes{operand, 0, operand};
  if (kind == "collective-broadcast") return {operand, operand * (1 - 1 / k), n > k ? operand / k : 0};
  return {operand, operand * (k - 1) / n, operand * (n - k) / n};  // everyone's own part to everyone
}

// All sends to hosts, and receipts from them.
CollectiveTotal count_carried(const pjrt::HloModule& module, const HloRuns& runs, int64_t num_islands) {
  CollectiveTotal out;
  out.kind = "send";
  out.axes = "slices";
  out.group_size = num_islands;
  double received = 0;
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const HloComputation& computation = module.computations[c];
    for (const HloInstruction& i : computation.instructions) {
      if (i.opcode == "send" && !i.operands.empty()) {
        out.count += runs.times[c];
        out.bytes += runs.times[c] * static_cast<double>(computation.instructions[i.operands[0]].shape.bytes());
      } else if (i.opcode == "recv" && !i.shape.members.empty()) {
        received += runs.times[c] * static_cast<double>(i.shape.members[0].bytes());
      }
    }
  }
  out.network_bytes = std::max(out.bytes, received);
  return out;
}

}  // namespace

std::string_view collective_kind(std::string_view opcode) {
  constexpr std::string_view kStart = "-start";
  if (opcode.ends_with(kStart)) opcode.remove_suffix(kStart.size());
  const auto* at = std::find(kKinds.begin(), kKinds.end(), opcode);
  return at == kKinds.end() ? std::string_view() : *at;
}

double CollectiveReport::link_bytes() const {
  double sum = 0;
  for (const CollectiveTotal& t : totals) sum += t.link_bytes;
  return sum;
}
double CollectiveReport::network_bytes() const {
  double sum = 0;
  for (const CollectiveTotal& t : totals) sum += t.network_bytes;
  return sum;
}

CollectiveReport count_collectives(const pjrt::HloModule& module, const Mesh& mesh, int64_t island, bool hosts_carry) {
  const HloRuns runs = count_runs(module);
  const Places places(mesh, island, hosts_carry);
  std::map<std::pair<std::string, std::string>, CollectiveTotal> totals;
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const HloComputation& computation = module.computations[c];
    if (runs.times[c] == 0) continue;
    for (const HloInstruction& i : computation.instructions) {
      std::string_view kind = collective_kind(i.opcode);
      if (kind.empty()) continue;
      if (kind == "all-reduce" && is_fused_reduce_scatter(computation)) kind = "reduce-scatter";
      const Members members = places.of(i);
      if (members.size <= 1) continue;
      double operand = 0;
      for (const size_t o : i.operands) operand += static_cast<double>(computation.instructions[o].shape.bytes());
      const Bytes bytes =
          traffic(kind, operand, static_cast<double>(members.size), static_cast<double>(members.per_island));
      CollectiveTotal& total = totals[{std::string(kind), members.axes}];
      total.kind = kind;
      total.axes = members.axes;
      total.group_size = std::max(total.group_size, members.size);
      total.count += runs.times[c];
      total.bytes += runs.times[c] * bytes.payload;
      total.link_bytes += runs.times[c] * bytes.link;
      total.network_bytes += runs.times[c] * bytes.network;
    }
  }
  CollectiveReport out;
  out.unknown_loops = runs.unknown_loops;
  for (auto& [key, total] : totals) out.totals.push_back(std::move(total));
  if (hosts_carry && island > 0) {
    CollectiveTotal carried = count_carried(module, runs, mesh.num_devices() / island);
    if (carried.network_bytes > 0) out.totals.push_back(std::move(carried));
  }
  std::stable_sort(out.totals.begin(), out.totals.end(),
                   [](const CollectiveTotal& a, const CollectiveTotal& b) { return a.bytes > b.bytes; });
  return out;
}

}  // namespace tenon
