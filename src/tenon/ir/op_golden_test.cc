#include <gtest/gtest.h>
#include <cstdio>
#include "tenon/ir/hlo_writer.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/testing/op_cases.h"
namespace tenon {
TEST(OpGolden, Dump) {
  std::string last;
  for (const OpCase& c : op_cases()) {
    if (c.op == last) continue;
    last = c.op;
    const Graph graph = graph_of(c);
    HloWriter w(*graph.trace, nullptr, false);
    const auto& params = graph.trace->region(graph.root).params;
    for (size_t i = 0; i < params.size(); ++i) w.bind(params[i], "%arg" + std::to_string(i));
    w.body(graph.root);
    std::printf("    {\"%s\", R\"(\n%s)\"},\n", c.op.c_str(), w.take().c_str());
  }
}
}
