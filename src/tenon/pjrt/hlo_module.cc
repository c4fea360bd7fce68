#include "tenon/pjrt/hlo_module.h"

#include <optional>

namespace tenon::pjrt {
namespace {

// One field of a message in protocol buffers' wire format.
struct Field {
  uint64_t number = 0;
  std::optional<std::string_view> bytes;  // of strings and messages
};

// Walks the fields of a message.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : rest_(bytes) {}

  // None at the end, or when the bytes are malformed: then ok() is false.
  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const uint64_t tag = varint();
    Field field{tag >> 3, std::nullopt};
    switch (tag & 7) {
      case 0:
        varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        take(4);
        break;
      default:
        ok_ = false;
    }
    if (!ok_) return std::nullopt;
    return field;
  }
  bool ok() const { return ok_; }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  std::string_view take(uint64_t count) {
    if (count > rest_.size()) ok_ = false;
    if (!ok_) return {};
    const std::string_view piece = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return piece;
  }

  std::string_view rest_;
  bool ok_ = true;
};

// Calls `visit` with each value of field `number` of a message; false when the bytes are malformed.
template <class F>
bool for_each(std::string_view message, uint64_t number, const F& visit) {
  ProtoReader reader(message);
  bool inner = true;
  while (const std::optional<Field> field = reader.next()) {
    if (field->number == number && field->bytes) inner = visit(*field->bytes) && inner;
  }
  return reader.ok() && inner;
}

// Field numbers of xla/service/hlo.proto.
constexpr uint64_t kModuleOfModuleWithConfig = 1, kComputationsOfModule = 3, kInstructionsOfComputation = 2,
                   kOpcodeOfInstruction = 2;

}  // namespace

Result<std::map<std::string, int64_t>> count_instructions(std::string_view bytes) {
  std::map<std::string, int64_t> counts;
  const auto count = [&](std::string_view opcode) { return ++counts[std::string(opcode)] > 0; };
  const auto instruction = [&](std::string_view b) { return for_each(b, kOpcodeOfInstruction, count); };
  const auto computation = [&](std::string_view b) { return for_each(b, kInstructionsOfComputation, instruction); };
  const auto module = [&](std::string_view b) { return for_each(b, kComputationsOfModule, computation); };
  if (!for_each(bytes, kModuleOfModuleWithConfig, module)) {
    return Error(ErrorCode::plugin, "the plugin's optimized program can't be read");
  }
  return counts;
}

}  // namespace tenon::pjrt
