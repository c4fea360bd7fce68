#include "tenon/aot/collectives.h"

#include <gmock/gmock.h>

#include "tenon/aot/hlo_runs.h"
#include "tenon/aot/test_hlo.h"

namespace tenon {
namespace {

using pjrt::HloInstruction;
using pjrt::HloModule;

// A program of one collective with these groups, on an operand of 1,024 bytes.
CollectiveReport count_one(const std::string& opcode, std::vector<std::vector<int64_t>> groups, const Mesh& mesh,
                           int64_t island = 0, bool hosts_carry = false) {
  HloInstruction collective = hlo(opcode, f32({256}), {0});
  collective.groups.lists = std::move(groups);
  HloModule module;
  add_computation(module, {hlo("parameter", f32({256})), collective});
  return count_collectives(module, mesh, island, hosts_carry);
}

const Mesh kMesh{{"data", 2}, {"fsdp", 2}, {"model", 2}};  // device = 4 data + 2 fsdp + model

TEST(Collectives, AxesAreThoseAlongWhichGroupsDiffer) {
  const auto axes = [](std::vector<std::vector<int64_t>> groups) {
    const CollectiveReport report = count_one("all-reduce", std::move(groups), kMesh);
    return report.totals.size() == 1 ? report.totals[0].axes : "none";
  };
  EXPECT_EQ(axes({{0, 1}, {2, 3}, {4, 5}, {6, 7}}), "model");
  EXPECT_EQ(axes({{0, 2}, {1, 3}, {4, 6}, {5, 7}}), "fsdp");
  EXPECT_EQ(axes({{0, 4}, {1, 5}, {2, 6}, {3, 7}}), "data");
  EXPECT_EQ(axes({{0, 1, 2, 3}, {4, 5, 6, 7}}), "fsdp+model");
  EXPECT_EQ(axes({{0, 2, 4, 6}, {1, 3, 5, 7}}), "data+fsdp");
  EXPECT_EQ(axes({}), "data+fsdp+model");
  EXPECT_EQ(axes({{0, 3}, {1, 2}}), "part of fsdp+model");
  EXPECT_EQ(axes({{0}, {1}}), "none");  // nothing moves
  EXPECT_EQ(axes({{0, 8}}), "unknown");
}

// Two nodes of four with model between them: device 4 d + 2 f + m of the mesh is device 2 d + f of node m.
TEST(Collectives, AnOuterPartSaysWhatCrosses) {
  const Mesh mesh{{"data", 2}, {"fsdp", 2}, {"model", 2}, {"outer.model", 2}};
  const auto sent = [&](std::vector<std::vector<int64_t>> groups) {
    const CollectiveReport r = count_one("all-reduce", std::move(groups), mesh, 4);
    return std::pair(r.link_bytes(), r.network_bytes());
  };
  using Sent = std::pair<double, double>;
  EXPECT_EQ(sent({{0, 1}, {2, 3}, {4, 5}, {6, 7}}), Sent(0, 1024)) << "model";
  EXPECT_EQ(sent({{0, 2, 4, 6}, {1, 3, 5, 7}}), Sent(2 * 1024 * 0.75, 0)) << "data+fsdp";
}

// Two slices of four with fsdp between them: device 4 d + f of the mesh, f = 2 s + i, is place 2 d + i of slice s.
TEST(Collectives, ASlicesProgramNumbersPlacesInIt) {
  const Mesh mesh{{"data", 2}, {"fsdp", 4}, {"outer.fsdp", 2}};
  const auto axes = [&](std::vector<std::vector<int64_t>> groups) {
    const CollectiveReport report = count_one("all-reduce", std::move(groups), mesh, 4, true);
    EXPECT_EQ(report.network_bytes(), 0);
    return report.totals.at(0).axes;
  };
  EXPECT_EQ(axes({{0, 1}, {2, 3}}), "part of fsdp");
  EXPECT_EQ(axes({{0, 2}, {1, 3}}), "data");
  EXPECT_EQ(axes({{0, 1, 2, 3}}), "part of data+fsdp");
}

TEST(Collectives, PairsOfAPermutation) {
  HloInstruction shift = hlo("collective-permute", f32({256}), {0});
  shift.source_targets = {{0, 2}, {2, 0}, {1, 3}, {3, 1}, {4, 6}, {6, 4}, {5, 7}, {7, 5}};
  HloModule module;
  add_computation(module, {hlo("parameter", f32({256})), shift});
  const CollectiveReport linked = count_collectives(module, kMesh, 4);
  ASSERT_EQ(linked.totals.size(), 1U);
  EXPECT_EQ(linked.totals[0].axes, "fsdp");
  EXPECT_EQ(linked.totals[0].group_size, 2);
  EXPECT_EQ(linked.link_bytes(), 1024);
  EXPECT_EQ(linked.network_bytes(), 0);
  EXPECT_EQ(count_collectives(module, kMesh, 2).network_bytes(), 1024);  // it crosses
}

// What crosses slices is given to hosts, in loops as often as they run, and comes from them.
TEST(Collectives, WhatHostsCarryBetweenSlices) {
  HloModule module;
  const auto piece = f32({256});  // 1,024 bytes
  const auto started = [](const pjrt::HloShape& shape) { return tuple_of({shape, f32({}), f32({0})}); };
  const size_t body = add_computation(module, {hlo("parameter", piece), hlo("send", started(piece), {0}),
                                               hlo("recv", started(piece)), hlo_member(started(piece), 2, 0)});
  const size_t condition = add_condition(module, piece);
  add_computation(module, {hlo("parameter", piece), hlo_loop(piece, 0, body, condition, 3),
                           hlo("recv", started(f32({1024}))), hlo("recv-done", f32({1024}), {2})});
  const CollectiveReport report = count_collectives(module, kMesh, 4, true);
  ASSERT_EQ(report.totals.size(), 1U);
  const CollectiveTotal& total = report.totals[0];
  EXPECT_EQ(total.kind, "send");
  EXPECT_EQ(total.axes, "slices");
  EXPECT_EQ(total.group_size, 2);
  EXPECT_EQ(total.count, 3);
  EXPECT_EQ(total.bytes, 3 * 1024);
  EXPECT_EQ(report.network_bytes(), (3 + 4) * 1024);
  EXPECT_EQ(report.link_bytes(), 0);
  EXPECT_TRUE(count_collectives(module, kMesh, 4).totals.empty());
}

// Bytes by hand, for 4 devices in one island, and in two islands of two.
TEST(Collectives, BytesThatEachDeviceMustSend) {
  const Mesh mesh{{"fsdp", 4}};
  struct Case {
    const char* opcode;
    double payload, link, split_link, split_network;
  };
  for (const Case& c : {Case{"all-gather", 4096, 3072, 2048, 1024}, Case{"reduce-scatter", 1024, 768, 512, 256},
                        Case{"all-reduce", 1024, 1536, 1024, 512}, Case{"all-to-all", 1024, 768, 256, 512},
                        Case{"collective-broadcast", 1024, 768, 512, 512}}) {
    const CollectiveReport whole = count_one(c.opcode, {{0, 1, 2, 3}}, mesh);
    ASSERT_EQ(whole.totals.size(), 1U) << c.opcode;
    EXPECT_EQ(whole.totals[0].kind, c.opcode);
    EXPECT_EQ(whole.totals[0].bytes, c.payload) << c.opcode;
    EXPECT_EQ(whole.link_bytes(), c.link) << c.opcode;
    EXPECT_EQ(whole.network_bytes(), 0) << c.opcode;
    const CollectiveReport split = count_one(c.opcode, {{0, 1, 2, 3}}, mesh, 2);
    EXPECT_EQ(split.link_bytes(), c.split_link) << c.opcode;
    EXPECT_EQ(split.network_bytes(), c.split_network) << c.opcode;
  }
}

TEST(Collectives, LoopsCountAsOftenAsTheyRun) {
  HloModule module;
  const pjrt::HloShape carry = tuple_of({f32({256})});
  const auto loop_of = [&](size_t body, std::optional<int64_t> trips) {
    return add_computation(module,
                           {hlo("parameter", carry), hlo_loop(carry, 0, body, add_condition(module, carry), trips)});
  };
  const size_t inner = add_computation(module, {hlo("parameter", carry), hlo_member(carry, 0, 0),
                                                hlo("all-reduce", f32({256}), {1}), hlo("tuple", carry, {2})});
  const size_t outer = loop_of(inner, 5);
  loop_of(outer, 3);
  EXPECT_EQ(count_collectives(module, kMesh).totals.at(0).count, 15);
  EXPECT_EQ(count_collectives(module, kMesh).totals.at(0).bytes, 15 * 1024);
  EXPECT_EQ(count_collectives(module, kMesh).unknown_loops, 0);
  loop_of(inner, std::nullopt);
  EXPECT_EQ(count_collectives(module, kMesh).totals.at(0).count, 1);
  EXPECT_EQ(count_collectives(module, kMesh).unknown_loops, 1);
  loop_of(inner, 0);
  EXPECT_TRUE(count_collectives(module, kMesh).totals.empty());
}

// Where the compiler doesn't say how often, a condition with one integer does.
TEST(Collectives, TripsByTheCondition) {
  HloModule module;
  const pjrt::HloShape carry = tuple_of({f32({})});
  const size_t body = add_computation(module, {hlo("parameter", carry)});
  HloInstruction limit = hlo("constant", f32({}));
  limit.integer = 12;
  const size_t condition = add_computation(
      module, {hlo("parameter", carry), hlo_member(carry, 0, 0), limit, hlo("compare", f32({}), {1, 2})});
  EXPECT_EQ(trips_of(module, hlo_loop(carry, 0, body, condition, std::nullopt)), 12);
  const size_t caller =
      add_computation(module, {hlo("parameter", carry), hlo("fusion", f32({}), {0}, "", {condition})});
  EXPECT_EQ(trips_of(module, hlo_loop(carry, 0, body, caller, std::nullopt)), 12);
  limit.integer = -1;
  const size_t never = add_computation(module, {hlo("parameter", carry), limit, hlo("compare", f32({}), {0, 1})});
  EXPECT_EQ(trips_of(module, hlo_loop(carry, 0, body, never, std::nullopt)), std::nullopt);
  module.computations[condition].instructions.push_back(limit);
  module.computations[condition].instructions.back().integer = 3;
  EXPECT_EQ(trips_of(module, hlo_loop(carry, 0, body, condition, std::nullopt)), std::nullopt);
  EXPECT_EQ(trips_of(module, hlo_loop(carry, 0, body, condition, 7)), 7);
}

TEST(Collectives, StartedAndAwaitedCountsOnce) {
  HloModule module;
  const pjrt::HloShape both = tuple_of({f32({256}), f32({1024})});
  add_computation(module, {hlo("parameter", f32({256})), hlo("all-gather-start", both, {0}),
                           hlo("all-gather-done", f32({1024}), {1})});
  const CollectiveReport report = count_collectives(module, Mesh{{"fsdp", 4}});
  ASSERT_EQ(report.totals.size(), 1U);
  EXPECT_EQ(report.totals[0].count, 1);
  EXPECT_EQ(report.totals[0].bytes, 4096);
}

}  // namespace
}  // namespace tenon
