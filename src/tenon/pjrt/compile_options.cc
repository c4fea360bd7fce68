#include "tenon/pjrt/compile_options.h"

#include <string_view>

namespace tenon::pjrt {
namespace {

// The few forms of protocol buffers' wire format that are needed.
class ProtoWriter {
 public:
  void integer(int field, int64_t value) {
    varint(static_cast<uint64_t>(field) << 3);
    varint(static_cast<uint64_t>(value));
  }
  void bytes(int field, std::string_view value) {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(value.size());
    out_ += value;
  }
  void message(int field, const ProtoWriter& value) { bytes(field, value.out_); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }
  const std::string& str() const { return out_; }

 private:
  std::string out_;
};

// One replica, a column of devices: DeviceAssignmentProto.
ProtoWriter device_assignment(const CompileOptions& options) {
  ProtoWriter result;
  result.integer(1, 1);  // replica_count
  result.integer(2, options.num_partitions);
  for (int64_t i = 0; i < options.num_partitions; ++i) {
    ProtoWriter ids, computation;
    ids.varint(static_cast<uint64_t>(options.device_ids.empty() ? i : options.device_ids[static_cast<size_t>(i)]));
    computation.bytes(1, ids.str());
    result.message(3, computation);
  }
  return result;
}

ProtoWriter build_options(const CompileOptions& options) {
  ProtoWriter result;
  result.integer(4, 1);  // num_replicas
  result.integer(5, options.num_partitions);
  if (options.num_partitions > 1) {
    result.integer(6, 1);   // use_spmd_partitioning
    result.integer(19, 1);  // use_shardy_partitioner
  }
  result.message(9, device_assignment(options));
  return result;
}

// Text is parsed by the plugin according to the flag's type; it spells booleans "True" and "False".
std::string flag_text(const std::string& value) {
  if (value == "true") return "True";
  if (value == "false") return "False";
  return value;
}

}  // namespace

std::string serialize(const CompileOptions& options) {
  ProtoWriter result;
  result.message(3, build_options(options));
  for (const auto& [name, value] : options.flags) {
    ProtoWriter flag, entry;
    flag.bytes(1, flag_text(value));
    entry.bytes(1, name);
    entry.message(2, flag);
    result.message(7, entry);
  }
  return result.str();
}

}  // namespace tenon::pjrt
