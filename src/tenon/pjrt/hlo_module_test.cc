#include "tenon/pjrt/hlo_module.h"

#include <gtest/gtest.h>

namespace tenon::pjrt {
namespace {

// A field of strings and messages; short enough for one byte of length.
std::string field(int number, const std::string& value) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(value.size())} + value;
}

TEST(HloModule, CountsOpcodesOfAllComputations) {
  const std::string name = field(1, "n");
  const auto instruction = [&](const std::string& opcode) { return field(2, name + field(2, opcode)); };
  const std::string body = field(1, "body") + instruction("add") + instruction("all-reduce");
  const std::string entry = field(1, "entry") + instruction("while") + instruction("add");
  // Before the computations: a varint, a fixed 64-bit and a fixed 32-bit field that don't matter.
  const std::string others = std::string{5 << 3, 7} + std::string{char(9 << 3 | 1)} + std::string(8, 'x') +
                             std::string{char(10 << 3 | 5)} + std::string(4, 'x');
  const std::string module = field(1, others + field(1, "module") + field(3, body) + field(3, entry)) + field(2, "c");
  const std::map<std::string, int64_t> want{{"add", 2}, {"all-reduce", 1}, {"while", 1}};
  EXPECT_EQ(count_instructions(module).value(), want);
  EXPECT_TRUE(count_instructions("").value().empty());
}

TEST(HloModule, MalformedBytesAreAnError) {
  const std::string whole = field(1, field(3, field(2, field(2, "add"))));
  ASSERT_EQ(count_instructions(whole).value().at("add"), 1);
  for (size_t length = 1; length < whole.size(); ++length) {
    const auto cut = count_instructions(whole.substr(0, length));
    ASSERT_FALSE(cut.ok()) << length;
    EXPECT_EQ(cut.error().code(), ErrorCode::plugin);
  }
  EXPECT_FALSE(count_instructions(std::string(20, '\xff')).ok());  // a number without end
  EXPECT_FALSE(count_instructions("\x0b").ok());                   // a group: no longer in the format
  std::string inner = whole;
  inner[3] = 100;  // the computation claims more bytes than there are
  EXPECT_FALSE(count_instructions(inner).ok());
}

}  // namespace
}  // namespace tenon::pjrt
