#include "tenon/pjrt/proto_reader.h"

namespace tenon::pjrt {

std::optional<ProtoField> ProtoReader::next() {
  if (rest_.empty() || !ok_) return std::nullopt;
  const uint64_t tag = varint();
  ProtoField field{tag >> 3, 0, std::nullopt};
  switch (tag & 7) {
    case 0:
      field.value = varint();
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

uint64_t ProtoReader::varint() {
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

std::string_view ProtoReader::take(uint64_t count) {
  if (count > rest_.size()) ok_ = false;
  if (!ok_) return {};
  const std::string_view piece = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return piece;
}

bool append_numbers(const ProtoField& field, std::vector<int64_t>& out) {
  if (!field.bytes) {
    out.push_back(static_cast<int64_t>(field.value));
    return true;
  }
  ProtoReader packed(*field.bytes);
  while (!packed.at_end() && packed.ok()) out.push_back(static_cast<int64_t>(packed.varint()));
  if (!packed.ok()) out.pop_back();
  return packed.ok();
}

}  // namespace tenon::pjrt
