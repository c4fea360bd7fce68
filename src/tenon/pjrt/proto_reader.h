// Private to this folder: walking messages in protocol buffers' wire format.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tenon::pjrt {

struct ProtoField {
  uint64_t number = 0;
  uint64_t value = 0;                     // of numbers
  std::optional<std::string_view> bytes;  // of strings and messages
};

class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : rest_(bytes) {}

  // The next field; none at the end, or when the bytes are malformed: then ok() is false.
  std::optional<ProtoField> next();
  bool ok() const { return ok_; }
  uint64_t varint();
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view take(uint64_t count);
  std::string_view rest_;
  bool ok_ = true;
};

// Calls `visit` with each field of a message; false when the bytes are malformed or a visit says so.
template <class F>
bool for_each_field(std::string_view message, const F& visit) {
  ProtoReader reader(message);
  while (const std::optional<ProtoField> field = reader.next()) {
    if (!visit(*field)) return false;
  }
  return reader.ok();
}

// Appends the numbers of a repeated field, packed or one by one; false when malformed.
bool append_numbers(const ProtoField& field, std::vector<int64_t>& out);

}  // namespace tenon::pjrt
