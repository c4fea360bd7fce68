#include "tenon/pjrt/hlo_module.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace tenon::pjrt {
namespace {

using ::testing::ElementsAre;

// Writes messages in protocol buffers' wire format.
std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string field(int number, const std::string& value) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(value.size()) + value;
}
std::string field(int number, uint64_t value) { return varint(static_cast<uint64_t>(number) << 3) + varint(value); }
std::string packed(int number, const std::vector<uint64_t>& values) {
  std::string all;
  for (const uint64_t v : values) all += varint(v);
  return field(number, all);
}

constexpr uint64_t kF32 = 11, kS32 = 4, kTuple = 13;

std::string array_shape(uint64_t type, const std::vector<uint64_t>& dims, const std::string& layout = "") {
  return field(2, type) + packed(3, dims) + (layout.empty() ? "" : field(5, layout));
}

struct Instruction {
  uint64_t id;
  std::string opcode, shape;
  std::vector<uint64_t> operands = {}, called = {};
  std::string more = "";
};
std::string write(const Instruction& i) {
  std::string out = field(1, "n" + std::to_string(i.id)) + field(2, i.opcode) + field(3, i.shape) + field(35, i.id);
  if (!i.operands.empty()) out += packed(36, i.operands);
  for (const uint64_t c : i.called) out += field(38, c);  // one by one
  return out + i.more;
}
std::string computation(uint64_t id, uint64_t root, const std::vector<Instruction>& instructions) {
  std::string out = field(1, "c" + std::to_string(id));
  for (const Instruction& i : instructions) out += field(2, write(i));
  return field(3, out + field(5, id) + field(6, root));
}
std::string module(const std::string& computations, uint64_t entry, const std::string& more = "") {
  return field(1, field(1, "module") + computations + field(6, entry) + more) + field(2, "config");
}

const std::string kVector = array_shape(kF32, {8});

// A loop of 32 trips over a vector; its condition compares with 32.
std::string loop_module() {
  const std::string carry = field(2, kTuple) + field(4, array_shape(kS32, {})) + field(4, kVector);
  const std::string body = computation(1, 14,
                                       {{10, "parameter", carry},
                                        {11, "get-tuple-element", kVector, {10}, {}, field(13, 1)},
                                        {12,
                                         "all-reduce",
                                         kVector,
                                         {11},
                                         {},
                                         field(49, packed(1, {0, 2})) + field(49, packed(1, {1, 3})) +
                                             field(7, field(1, "op") + field(2, "decoder.layers/add"))},
                                        {13, "get-tuple-element", array_shape(kS32, {}), {10}},
                                        {14, "tuple", carry, {13, 12}}});
  const std::string condition = computation(2, 22,
                                            {{20, "parameter", carry},
                                             {21, "constant", array_shape(kS32, {}), {}, {}, field(8, packed(4, {32}))},
                                             {22, "compare", array_shape(1, {}), {21, 21}}});
  const std::string entry =
      computation(3, 31,
                  {{30, "parameter", carry, {}, {}, field(9, 7)},
                   {31, "while", carry, {30}, {1, 2}, field(43, R"({"known_trip_count":{"n":"32"},"other":1})")}});
  return module(body + condition + entry, 3);
}

TEST(HloModule, IsReadWithItsStructure) {
  const HloModule m = parse_hlo_module(loop_module()).value();
  ASSERT_EQ(m.computations.size(), 3U);
  EXPECT_EQ(m.entry, 2U);
  const HloComputation& entry = m.computations[2];
  EXPECT_EQ(entry.root, 1U);
  EXPECT_EQ(entry.instructions[0].parameter_number, 7);
  const HloInstruction& loop = entry.instructions[1];
  EXPECT_THAT(loop.called, ElementsAre(0U, 1U));
  EXPECT_THAT(loop.operands, ElementsAre(0U));
  EXPECT_EQ(loop.trip_count, 32);
  EXPECT_TRUE(loop.shape.is_tuple);
  EXPECT_EQ(loop.shape.bytes(), 4 + 8 * 4);
  const HloInstruction& reduce = m.computations[0].instructions[2];
  EXPECT_EQ(reduce.op_name, "decoder.layers/add");
  EXPECT_THAT(reduce.groups.expand(), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_EQ(m.computations[0].instructions[1].tuple_index, 1);
  EXPECT_EQ(m.computations[1].instructions[1].integer, 32);
  EXPECT_EQ(entry.instructions[0].opcode, "parameter");
  EXPECT_EQ(reduce.opcode, "all-reduce");
}

TEST(HloModule, InstructionsComeInTheOrderOfTheSchedule) {
  const std::string vector = kVector;
  const std::string entry = computation(1, 12,
                                        {{10, "parameter", vector},
                                         {11, "negate", vector, {10}},
                                         {13, "exp", vector, {10}},
                                         {12, "add", vector, {11, 13}}});
  const std::string schedule = field(7, field(1, field(1, uint64_t{1}) + field(2, packed(1, {10, 13, 11, 12}))));
  const HloModule m = parse_hlo_module(module(entry, 1, schedule)).value();
  EXPECT_EQ(m.computations[0].instructions[1].opcode, "exp");
  EXPECT_EQ(m.computations[0].root, 3U);
  EXPECT_THAT(m.computations[0].instructions[3].operands, ElementsAre(2U, 1U));
  // One that has an operand behind its user is a mistake; one that lacks instructions says nothing.
  EXPECT_FALSE(parse_hlo_module(
                   module(entry, 1, field(7, field(1, field(1, uint64_t{1}) + field(2, packed(1, {11, 10, 13, 12}))))))
                   .ok());
  EXPECT_EQ(parse_hlo_module(module(entry, 1, field(7, field(1, field(1, uint64_t{1}) + field(2, packed(1, {10}))))))
                .value()
                .computations[0]
                .instructions[1]
                .opcode,
            "negate");
}

HloShape shape_of(const std::string& bytes) {
  return parse_hlo_module(module(computation(1, 10, {{10, "parameter", bytes}}), 1))
      .value()
      .computations[0]
      .instructions[0]
      .shape;
}

// DotDimensionNumbers: what is summed over, of the first operand and of the second.
TEST(HloModule, WhatADotSumsOver) {
  const auto dot = [](uint64_t dimension) {
    const std::string numbers = packed(1, {dimension}) + packed(2, {0});
    return parse_hlo_module(
        module(computation(1, 12,
                           {{10, "parameter", array_shape(kF32, {4, 8})},
                            {11, "parameter", array_shape(kF32, {8, 2})},
                            {12, "dot", array_shape(kF32, {4, 2}), {10, 11}, {}, field(30, numbers)}}),
               1));
  };
  EXPECT_THAT(dot(1).value().computations[0].instructions[2].contracted, ElementsAre(1));
  EXPECT_FALSE(dot(2).ok());  // the operand has two dimensions
}

TEST(HloModule, BytesOfShapes) {
  EXPECT_EQ(shape_of(array_shape(kF32, {3, 5})).bytes(), 60);
  EXPECT_EQ(shape_of(array_shape(16, {3, 5})).bytes(), 30);  // bf16
  EXPECT_EQ(shape_of(array_shape(21, {3, 5})).bytes(), 8);   // s4: 7.5
  EXPECT_EQ(shape_of(array_shape(1, {})).bytes(), 1);        // pred
  EXPECT_EQ(shape_of(array_shape(17, {})).bytes(), 0);       // token
  // Padded to tiles of 8 x 128, in the order of the layout: 5 is the minor side of the first, 3 of the second.
  const std::string tiles = field(6, packed(1, {8, 128}));
  EXPECT_EQ(shape_of(array_shape(kF32, {3, 5}, packed(1, {1, 0}) + tiles)).bytes(), 8 * 128 * 4);
  EXPECT_EQ(shape_of(array_shape(kF32, {130, 3}, packed(1, {0, 1}) + tiles)).bytes(), 8 * 256 * 4);
  EXPECT_EQ(shape_of(array_shape(kF32, {2, 9, 1}, packed(1, {2, 1, 0}) + tiles)).bytes(), 2 * 16 * 128 * 4);
  EXPECT_EQ(shape_of(array_shape(kF32, {3}, field(8, uint64_t{5}))).memory_space, 5);
  const uint64_t huge = uint64_t{1} << 40;
  EXPECT_EQ(shape_of(array_shape(kF32, {huge, huge})).bytes(), int64_t{1} << 59);  // 2^62 bits
  std::string pair = array_shape(kF32, {huge, huge});  // of pairs of pairs: 2^60, 2^61, 2^62, and no more
  for (int64_t depth = 1; depth <= 5; ++depth) {
    pair = field(2, kTuple) + field(4, pair) + field(4, pair);
    EXPECT_EQ(shape_of(pair).bytes(), int64_t{1} << std::min<int64_t>(59 + depth, 62));
  }
}

// However its numbers are written, a message is one group.
TEST(HloModule, GroupsByLists) {
  const std::string all = field(49, field(1, uint64_t{0}) + field(1, uint64_t{2})) + field(49, packed(1, {1, 3}));
  const HloModule m =
      parse_hlo_module(module(computation(1, 10, {{10, "all-gather", kVector, {}, {}, all}}), 1)).value();
  EXPECT_THAT(m.computations[0].instructions[0].groups.expand(), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
}

TEST(HloModule, GroupsByFormula) {
  const auto groups = [](const std::string& iota) {
    const std::string all = field(87, field(2, iota));
    return parse_hlo_module(module(computation(1, 10, {{10, "all-gather", kVector, {}, {}, all}}), 1))
        .value()
        .computations[0]
        .instructions[0]
        .groups.expand();
  };
  // [2,4]<=[8], and [4,2]<=[2,4]T(1,0), as XLA's text has them.
  EXPECT_THAT(groups(field(1, uint64_t{2}) + field(2, uint64_t{4}) + packed(3, {8})),
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7)));
  EXPECT_THAT(groups(field(1, uint64_t{4}) + field(2, uint64_t{2}) + packed(3, {2, 4}) + packed(4, {1, 0})),
              ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5), ElementsAre(2, 6), ElementsAre(3, 7)));
  EXPECT_FALSE(
      parse_hlo_module(
          module(computation(1, 10,
                             {{10,
                               "all-gather",
                               kVector,
                               {},
                               {},
                               field(87, field(2, field(1, uint64_t{3}) + field(2, uint64_t{4}) + packed(3, {8})))}}),
                 1))
          .ok());
}

// As newer compilers write them: the formula by itself, and axes of a mesh.
TEST(HloModule, GroupsByAxesOfAMesh) {
  const auto groups = [](const std::string& all) {
    return parse_hlo_module(module(computation(1, 10, {{10, "all-gather", kVector, {}, {}, all}}), 1));
  };
  const auto expand = [&](const std::string& all) {
    return groups(all).value().computations[0].instructions[0].groups.expand();
  };
  EXPECT_THAT(expand(field(92, field(1, uint64_t{2}) + field(2, uint64_t{2}) + packed(3, {4}) + packed(4, {0}))),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  const auto axis = [](uint64_t size) { return field(1, field(1, "axis") + field(2, size)); };
  const std::string mesh = field(1, axis(2) + axis(4));
  const auto part = [](uint64_t index, const std::string& sub = "") {
    return field(2, (index == 0 ? "" : field(1, index)) + (sub.empty() ? "" : field(2, sub)));
  };
  EXPECT_THAT(expand(field(93, mesh + part(0))),
              ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5), ElementsAre(2, 6), ElementsAre(3, 7)));
  EXPECT_THAT(expand(field(93, mesh + part(1))), ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7)));
  EXPECT_THAT(expand(field(93, mesh + part(1) + part(0))), ElementsAre(ElementsAre(0, 4, 1, 5, 2, 6, 3, 7)));
  // The major half of the second axis: "axis":(1)2.
  EXPECT_THAT(expand(field(93, mesh + part(1, field(1, uint64_t{1}) + field(2, uint64_t{2})))),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3), ElementsAre(4, 6), ElementsAre(5, 7)));
  const std::string reversed = field(1, axis(2) + axis(2) + packed(2, {3, 2, 1, 0}));
  EXPECT_THAT(expand(field(93, reversed + part(1))), ElementsAre(ElementsAre(3, 2), ElementsAre(1, 0)));
  // What an earlier field says of the groups is replaced, not added to.
  const std::string iota = field(92, field(1, uint64_t{2}) + field(2, uint64_t{2}) + packed(3, {4}) + packed(4, {0}));
  const std::string along_second = field(93, mesh + part(1));
  EXPECT_THAT(expand(iota + along_second), ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7)));
  EXPECT_THAT(expand(along_second + iota), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(expand(iota + field(93, reversed + part(1))), ElementsAre(ElementsAre(3, 2), ElementsAre(1, 0)));
  EXPECT_FALSE(groups(iota + field(93, field(1, packed(2, {7})))).ok());  // devices of no axes
  EXPECT_FALSE(groups(field(93, field(1, packed(2, {7})))).ok());
  EXPECT_FALSE(groups(field(93, mesh + part(2))).ok());
  EXPECT_FALSE(groups(field(93, mesh + part(1) + part(1))).ok());
  EXPECT_FALSE(groups(field(93, mesh + part(1, field(1, uint64_t{3}) + field(2, uint64_t{2})))).ok());
  EXPECT_FALSE(groups(field(93, field(1, axis(2) + packed(2, {0})) + part(0))).ok());
}

TEST(HloModule, MalformedBytesAreAnError) {
  const std::string whole = loop_module();
  ASSERT_TRUE(parse_hlo_module(whole).ok());
  const std::string inner = whole.substr(0, whole.size() - field(2, "config").size());
  for (size_t length = 0; length < inner.size(); ++length) {
    const auto cut = parse_hlo_module(whole.substr(0, length));
    ASSERT_FALSE(cut.ok()) << length;
    EXPECT_EQ(cut.error().code(), ErrorCode::plugin);
  }
  EXPECT_FALSE(parse_hlo_module(std::string(20, '\xff')).ok());  // a number without end
  EXPECT_FALSE(parse_hlo_module("\x0b").ok());                   // a group: no longer in the format
  const std::string one = computation(1, 10, {{10, "parameter", kVector}});
  EXPECT_TRUE(parse_hlo_module(module(one, 1)).ok());
  EXPECT_FALSE(parse_hlo_module(module(one, 2)).ok());                                                  // no entry
  EXPECT_FALSE(parse_hlo_module(module(one + one, 1)).ok());                                            // two of one id
  EXPECT_FALSE(parse_hlo_module(module(computation(1, 11, {{10, "parameter", kVector}}), 1)).ok());     // no root
  EXPECT_FALSE(parse_hlo_module(module(computation(1, 10, {{10, "negate", kVector, {11}}}), 1)).ok());  // no operand
  EXPECT_FALSE(parse_hlo_module(module(computation(1, 10, {{10, "call", kVector, {}, {1}}}), 1)).ok());  // calls itself
  EXPECT_FALSE(parse_hlo_module(module(computation(1, 10, {{10, "x", array_shape(kF32, {~uint64_t{0}})}}), 1)).ok());
}

}  // namespace
}  // namespace tenon::pjrt
