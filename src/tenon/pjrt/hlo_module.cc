#include "tenon/pjrt/hlo_module.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

#include "tenon/base/text.h"
#include "tenon/pjrt/proto_reader.h"

namespace tenon::pjrt {
namespace {

constexpr int64_t kMost = int64_t{1} << 62;
constexpr int kMaxTupleDepth = 50;
constexpr int64_t kMaxGroupedDevices = int64_t{1} << 20;

int64_t saturated(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) || out > kMost ? kMost : out;
}

// By the numbers of xla_data.proto's PrimitiveType.
int64_t bits_of(uint64_t type) {
  switch (type) {
    case 30:
    case 31:  // s1, u1
      return 1;
    case 26:
    case 27:  // s2, u2
      return 2;
    case 21:
    case 22:
    case 32:  // s4, u4, f4e2m1fn
      return 4;
    case 1:
    case 2:
    case 6:
    case 19:
    case 20:
    case 23:
    case 24:
    case 25:
    case 28:
    case 29:
    case 33:  // pred, 8-bit
      return 8;
    case 3:
    case 7:
    case 10:
    case 16:  // s16, u16, f16, bf16
      return 16;
    case 4:
    case 8:
    case 11:  // s32, u32, f32
      return 32;
    case 5:
    case 9:
    case 12:
    case 15:  // s64, u64, f64, c64
      return 64;
    case 18:  // c128
      return 128;
    default:  // tokens, opaque values, what is newer
      return 0;
  }
}

bool read_layout(std::string_view bytes, HloShape& shape) {
  bool first_tile = true;
  return for_each_field(bytes, [&](const ProtoField& f) {
    if (f.number == 1) return append_numbers(f, shape.minor_to_major);
    if (f.number == 6 && f.bytes && std::exchange(first_tile, false)) {
      return for_each_field(*f.bytes,
                            [&](const ProtoField& t) { return t.number != 1 || append_numbers(t, shape.tile); });
    }
    if (f.number == 7 && f.value > 0 && f.value <= 128) shape.element_bits = static_cast<int64_t>(f.value);
    if (f.number == 8) shape.memory_space = static_cast<int64_t>(f.value);
    return true;
  });
}

bool is_permutation_of(const Dims& order, size_t size) {
  std::set<int64_t> seen(order.begin(), order.end());
  return order.size() == size && seen.size() == size &&
         (size == 0 || (*seen.begin() == 0 && *seen.rbegin() == static_cast<int64_t>(size) - 1));
}

bool read_shape(std::string_view bytes, HloShape& shape, int depth = 0) {
  if (depth > kMaxTupleDepth) return false;
  std::string_view layout;
  const bool ok = for_each_field(bytes, [&](const ProtoField& f) {
    if (f.number == 2 && !f.bytes) {
      shape.element_bits = bits_of(f.value);
      shape.is_tuple = f.value == 13;
    } else if (f.number == 3) {
      return append_numbers(f, shape.dims);
    } else if (f.number == 4 && f.bytes) {
      return read_shape(*f.bytes, shape.members.emplace_back(), depth + 1);
    } else if (f.number == 5 && f.bytes) {
      layout = *f.bytes;
    }
    return true;
  });
  // Behind the element type, whose size it may change.
  if (!ok || !read_layout(layout, shape)) return false;
  const auto positive = [](int64_t d) { return d > 0; };
  if (std::any_of(shape.dims.begin(), shape.dims.end(), [](int64_t d) { return d < 0; })) return false;
  if (!std::all_of(shape.tile.begin(), shape.tile.end(), positive)) shape.tile.clear();
  return shape.minor_to_major.empty() || is_permutation_of(shape.minor_to_major, shape.dims.size());
}

bool read_group_list(std::string_view bytes, ReplicaGroups& groups) {
  std::vector<int64_t>& list = groups.lists.emplace_back();
  return for_each_field(bytes, [&](const ProtoField& f) { return f.number != 1 || append_numbers(f, list); });
}

bool read_iota_groups(std::string_view bytes, ReplicaGroups& out) {
  ReplicaGroups groups;
  const bool ok = for_each_field(bytes, [&](const ProtoField& f) {
    if (f.number == 1) groups.num_groups = static_cast<int64_t>(f.value);
    if (f.number == 2) groups.group_size = static_cast<int64_t>(f.value);
    if (f.number == 3) return append_numbers(f, groups.reshape);
    if (f.number == 4) return append_numbers(f, groups.permutation);
    return true;
  });
  if (groups.permutation.empty()) {
    for (size_t i = 0; i < groups.reshape.size(); ++i) groups.permutation.push_back(static_cast<int64_t>(i));
  }
  int64_t total = 1;
  for (const int64_t d : groups.reshape) total = d < 1 ? kMost : saturated(total, d);
  const bool consistent = ok && groups.num_groups >= 0 && groups.group_size >= 0 && total <= kMaxGroupedDevices &&
                          saturated(groups.num_groups, groups.group_size) == total &&
                          is_permutation_of(groups.permutation, groups.reshape.size());
  if (consistent) out = std::move(groups);
  return consistent;
}

// A part of a mesh's axis: behind the first `pre` pieces of it, major to minor, the next `size`.
struct AxisPart {
  int64_t axis = 0, pre = 1, size = 0;  // size 0: the whole axis
};

bool read_axis_part(std::string_view bytes, AxisPart& part) {
  return for_each_field(bytes, [&](const ProtoField& f) {
    if (f.number == 1) part.axis = static_cast<int64_t>(f.value);
    if (f.number != 2 || !f.bytes) return true;
    return for_each_field(*f.bytes, [&](const ProtoField& g) {
      if (g.number == 1) part.pre = static_cast<int64_t>(g.value);
      if (g.number == 2) part.size = static_cast<int64_t>(g.value);
      return true;
    });
  });
}

// MeshProto: axes of a name and a size each, and device ids when they aren't in order.
bool read_mesh(std::string_view bytes, Dims& sizes, Dims& device_ids) {
  return for_each_field(bytes, [&](const ProtoField& f) {
    if (f.number == 2) return append_numbers(f, device_ids);
    if (f.number != 1 || !f.bytes) return true;
    return for_each_field(*f.bytes, [&](const ProtoField& g) {
      if (g.number == 2) sizes.push_back(static_cast<int64_t>(g.value));
      return true;
    });
  });
}

// The groups of devices that differ along parts of a mesh's axes, as a formula; `groups` is empty before.
bool group_along(const Dims& sizes, const std::vector<AxisPart>& parts, ReplicaGroups& groups) {
  int64_t total = 1;
  for (const int64_t size : sizes) total = size < 1 ? kMost : saturated(total, size);
  if (total > kMaxGroupedDevices) return false;
  Dims inside, outside;
  std::vector<int64_t> place(parts.size(), -1);
  for (size_t a = 0; a < sizes.size(); ++a) {
    const auto here = [&](const AxisPart& p) { return p.axis == static_cast<int64_t>(a); };
    const auto found = std::find_if(parts.begin(), parts.end(), here);
    if (found == parts.end()) {
      outside.push_back(static_cast<int64_t>(groups.reshape.size()));
      groups.reshape.push_back(sizes[a]);
      continue;
    }
    const int64_t size = found->size == 0 ? sizes[a] : found->size;
    if (found->pre < 1 || size < 1 || sizes[a] % saturated(found->pre, size) != 0) return false;
    groups.reshape.insert(groups.reshape.end(), {found->pre, size, sizes[a] / (found->pre * size)});
    const auto end = static_cast<int64_t>(groups.reshape.size());
    place[static_cast<size_t>(found - parts.begin())] = end - 2;
    outside.push_back(end - 3);
    outside.push_back(end - 1);
  }
  groups.group_size = 1;
  for (const int64_t at : place) {
    if (at < 0) return false;  // an axis twice, or none of the mesh
    inside.push_back(at);
    groups.group_size *= groups.reshape[static_cast<size_t>(at)];
  }
  groups.num_groups = total / groups.group_size;
  groups.permutation = std::move(outside);
  groups.permutation.insert(groups.permutation.end(), inside.begin(), inside.end());
  return true;
}

// MeshAxesReplicaGroupListProto.
bool read_mesh_groups(std::string_view bytes, ReplicaGroups& out) {
  ReplicaGroups groups;
  Dims sizes, device_ids;
  std::vector<AxisPart> parts;
  const bool ok = for_each_field(bytes, [&](const ProtoField& f) {
    if (f.number == 1 && f.bytes) return read_mesh(*f.bytes, sizes, device_ids);
    if (f.number == 2 && f.bytes) return read_axis_part(*f.bytes, parts.emplace_back());
    return true;
  });
  if (!ok || !group_along(sizes, parts, groups)) return false;
  if (device_ids.empty()) {
    out = std::move(groups);
    return true;
  }
  if (sizes.empty() || static_cast<int64_t>(device_ids.size()) != groups.num_groups * groups.group_size) return false;
  out = {};
  out.lists = groups.expand();
  for (std::vector<int64_t>& list : out.lists) {
    for (int64_t& device : list) device = device_ids[static_cast<size_t>(device)];
  }
  return true;
}

bool read_device_list(std::string_view bytes, ReplicaGroups& groups) {
  return for_each_field(bytes, [&](const ProtoField& f) {
    if (f.number == 1 && f.bytes) return read_group_list(*f.bytes, groups);
    if (f.number == 2 && f.bytes) return read_iota_groups(*f.bytes, groups);
    return true;
  });
}

// LiteralProto of a scalar constant: s32s = 4, s64s = 5, u32s = 6, u64s = 7.
bool read_literal(std::string_view bytes, HloInstruction& out) {
  return for_each_field(bytes, [&](const ProtoField& f) {
    if (f.number < 4 || f.number > 7) return true;
    std::vector<int64_t> values;
    if (f.bytes && f.bytes->size() > 10) return true;  // an array
    if (!append_numbers(f, values)) return false;
    if (values.size() == 1) out.integer = values[0];
    return true;
  });
}

// What the compiler writes beside a loop: {"known_trip_count":{"n":"32"}, …}.
std::optional<int64_t> known_trips(std::string_view config) {
  constexpr std::string_view kKey = R"("known_trip_count":{"n":")";
  const size_t at = config.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = config.substr(at + kKey.size());
  const Result<int64_t> n = parse_int(rest.substr(0, rest.find('"')));
  return n && *n >= 0 ? std::optional(*n) : std::nullopt;
}

// As in the message, before ids are resolved.
struct RawInstruction {
  HloInstruction it;
  int64_t id = 0;
  std::vector<int64_t> operands, called;
  std::string_view backend_config;
};
struct RawComputation {
  std::string name;
  int64_t id = 0, root = 0;
  std::vector<RawInstruction> instructions;
};

bool read_pair(std::string_view bytes, std::vector<std::pair<int64_t, int64_t>>& out) {
  std::pair<int64_t, int64_t> pair{0, 0};
  const bool ok = for_each_field(bytes, [&](const ProtoField& f) {
    if (f.number == 1) pair.first = static_cast<int64_t>(f.value);
    if (f.number == 2) pair.second = static_cast<int64_t>(f.value);
    return true;
  });
  out.push_back(pair);
  return ok;
}

// Fields of HloInstructionProto that are strings or messages.
bool read_instruction_bytes(uint64_t number, std::string_view b, RawInstruction& out) {
  HloInstruction& it = out.it;
  switch (number) {
    case 2:
      it.opcode = b;
      return true;
    case 3:
      return read_shape(b, it.shape);
    case 7:
      return for_each_field(b, [&](const ProtoField& f) {
        if (f.number == 2 && f.bytes) it.op_name = *f.bytes;
        return true;
      });
    case 8:
      return read_literal(b, it);
    case 30:  // DotDimensionNumbers
      return for_each_field(b, [&](const ProtoField& f) { return f.number != 1 || append_numbers(f, it.contracted); });
    case 43:
      out.backend_config = b;
      return true;
    case 49:
      return read_group_list(b, it.groups);
    case 52:
      return read_pair(b, it.source_targets);
    case 87:
      return read_device_list(b, it.groups);
    case 92:
      return read_iota_groups(b, it.groups);
    case 93:
      return read_mesh_groups(b, it.groups);
    default:
      return true;
  }
}

bool read_instruction(std::string_view bytes, RawInstruction& out) {
  const bool ok = for_each_field(bytes, [&](const ProtoField& f) {
    if (f.number == 36) return append_numbers(f, out.operands);
    if (f.number == 38) return append_numbers(f, out.called);
    if (f.bytes) return read_instruction_bytes(f.number, *f.bytes, out);
    if (f.number == 9) out.it.parameter_number = static_cast<int64_t>(f.value);
    if (f.number == 13) out.it.tuple_index = static_cast<int64_t>(f.value);
    if (f.number == 35) out.id = static_cast<int64_t>(f.value);
    return true;
  });
  if (out.it.opcode == "while") out.it.trip_count = known_trips(out.backend_config);
  return ok && out.it.parameter_number >= 0 && out.it.tuple_index >= 0;
}

bool read_computation(std::string_view bytes, RawComputation& out) {
  return for_each_field(bytes, [&](const ProtoField& f) {
    if (f.number == 1 && f.bytes) out.name = *f.bytes;
    if (f.number == 2 && f.bytes) return read_instruction(*f.bytes, out.instructions.emplace_back());
    if (f.number == 5) out.id = static_cast<int64_t>(f.value);
    if (f.number == 6) out.root = static_cast<int64_t>(f.value);
    return true;
  });
}

// Whether the dimensions that a dot sums over are its first operand's.
bool sums_over_its_operand(const HloInstruction& i, const HloComputation& c) {
  if (i.contracted.empty()) return true;
  if (i.operands.empty()) return false;
  const auto rank = static_cast<int64_t>(c.instructions[i.operands[0]].shape.dims.size());
  return std::all_of(i.contracted.begin(), i.contracted.end(), [&](int64_t d) { return d >= 0 && d < rank; });
}

using Orders = std::unordered_map<int64_t, std::vector<int64_t>>;

// HloScheduleProto: {computation id: {instruction ids}}.
bool read_schedule(std::string_view bytes, Orders& orders) {
  return for_each_field(bytes, [&](const ProtoField& entry) {
    if (entry.number != 1 || !entry.bytes) return true;
    int64_t id = 0;
    std::vector<int64_t> order;
    const bool ok = for_each_field(*entry.bytes, [&](const ProtoField& f) {
      if (f.number == 1) id = static_cast<int64_t>(f.value);
      if (f.number != 2 || !f.bytes) return true;
      return for_each_field(*f.bytes, [&](const ProtoField& g) { return g.number != 1 || append_numbers(g, order); });
    });
    orders[id] = std::move(order);
    return ok;
  });
}

// Gives computations and instructions their places.
class Resolver {
 public:
  explicit Resolver(Orders orders) : orders_(std::move(orders)) {}

  bool add(RawComputation raw, HloModule& out) {
    order(raw);
    HloComputation computation;
    computation.name = std::move(raw.name);
    std::unordered_map<int64_t, size_t> places;
    for (RawInstruction& i : raw.instructions) {
      for (const int64_t id : i.operands) {
        const auto at = places.find(id);
        if (at == places.end()) return false;
        i.it.operands.push_back(at->second);
      }
      if (!sums_over_its_operand(i.it, computation)) return false;
      for (const int64_t id : i.called) {
        const auto at = computations_.find(id);
        if (at == computations_.end()) return false;
        i.it.called.push_back(at->second);
      }
      if (!places.emplace(i.id, computation.instructions.size()).second) return false;
      computation.instructions.push_back(std::move(i.it));
    }
    const auto root = places.find(raw.root);
    if (root == places.end() || !computations_.emplace(raw.id, out.computations.size()).second) return false;
    computation.root = root->second;
    out.computations.push_back(std::move(computation));
    return true;
  }
  std::optional<size_t> find(int64_t id) const {
    const auto at = computations_.find(id);
    return at == computations_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  // As scheduled, where the schedule has each instruction once.
  void order(RawComputation& raw) const {
    const auto found = orders_.find(raw.id);
    if (found == orders_.end() || found->second.size() != raw.instructions.size()) return;
    std::unordered_map<int64_t, size_t> rank;
    for (size_t i = 0; i < found->second.size(); ++i) rank.emplace(found->second[i], i);
    if (rank.size() != raw.instructions.size()) return;
    for (const RawInstruction& i : raw.instructions) {
      if (!rank.contains(i.id)) return;
    }
    std::sort(raw.instructions.begin(), raw.instructions.end(),
              [&](const RawInstruction& a, const RawInstruction& b) { return rank.at(a.id) < rank.at(b.id); });
  }
  Orders orders_;
  std::unordered_map<int64_t, size_t> computations_;
};

bool read_module(std::string_view bytes, HloModule& out) {
  std::vector<RawComputation> raw;
  Orders orders;
  int64_t entry = 0;
  const bool ok = for_each_field(bytes, [&](const ProtoField& f) {
    if (f.number == 6) entry = static_cast<int64_t>(f.value);
    if (!f.bytes) return true;
    if (f.number == 3) return read_computation(*f.bytes, raw.emplace_back());
    if (f.number == 7) return read_schedule(*f.bytes, orders);
    return true;
  });
  if (!ok) return false;
  Resolver resolver(std::move(orders));
  for (RawComputation& c : raw) {
    if (!resolver.add(std::move(c), out)) return false;
  }
  const std::optional<size_t> place = resolver.find(entry);
  out.entry = place.value_or(0);
  return place.has_value();
}

}  // namespace

int64_t HloShape::bytes() const {
  int64_t total = 0;
  for (const HloShape& m : members) total += std::min(kMost - total, m.bytes());
  if (is_tuple) return total;
  Dims sides;  // minor first
  for (size_t i = 0; i < dims.size(); ++i) {
    sides.push_back(minor_to_major.empty() ? dims[dims.size() - 1 - i] : dims[static_cast<size_t>(minor_to_major[i])]);
  }
  for (size_t i = 0; i < tile.size() && i < sides.size(); ++i) {
    const int64_t side = tile[tile.size() - 1 - i];
    if (sides[i] < kMost - side) sides[i] = (sides[i] + side - 1) / side * side;
  }
  int64_t bits = element_bits;
  for (const int64_t side : sides) bits = saturated(bits, side);
  return (bits + 7) / 8;
}

std::vector<std::vector<int64_t>> ReplicaGroups::expand() const {
  if (reshape.empty() || group_size == 0) return lists;
  // Walks the transposed array in row-major order.
  const Dims strides = row_major_strides(reshape);
  std::vector<std::vector<int64_t>> out(static_cast<size_t>(num_groups));
  Dims at(reshape.size(), 0);
  for (int64_t i = 0; i < num_groups * group_size; ++i) {
    int64_t device = 0;
    for (size_t d = 0; d < at.size(); ++d) device += at[d] * strides[static_cast<size_t>(permutation[d])];
    out[static_cast<size_t>(i / group_size)].push_back(device);
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < reshape[static_cast<size_t>(permutation[d])]) break;
      at[d] = 0;
    }
  }
  return out;
}

Result<HloModule> parse_hlo_module(std::string_view bytes) {
  HloModule module;
  bool found = false;
  const bool ok = for_each_field(bytes, [&](const ProtoField& f) {
    if (f.number != 1 || !f.bytes) return true;
    if (std::exchange(found, true)) return false;
    return read_module(*f.bytes, module);
  });
  if (ok && found) return module;
  return Error(ErrorCode::plugin, "the plugin's optimized program can't be read");
}

}  // namespace tenon::pjrt
