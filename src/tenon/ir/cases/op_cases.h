// Sample uses of every op, for whatever looks at ops one by one: tests of interpreter, gradients and printing, and the
// check of a backend (conformance).
#pragma once

#include <string>
#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/ir/trace.h"

namespace tenon {

struct OpCase {
  std::string op;     // name of its row in op_table()
  std::string label;  // "f32[2,3]", "edges", "reverse", …
  std::vector<Literal> inputs;
  // Traces the op, once, on parameters of the inputs' types.
  TensorFn build;
  // Step for central differences in every float input, which are then the op's operands in order. 0: don't.
  double step = 0;
  // The devices it is traced for.
  Mesh mesh = {};

  std::string name() const { return op + " " + label; }
};

// The first case of each op is a plain one in f32 (or the op's own dtype).
const std::vector<OpCase>& op_cases();

// The case as a program.
Graph graph_of(const OpCase& c);
// Cases side by side in one program: their inputs one after another, then their results.
Graph graph_of(const std::vector<const OpCase*>& cases);

// `size` numbers spread over (low, high), none equal, the same at every call; integers are truncated, i1 is mixed.
Literal sample(const TensorType& type, double low, double high, int salt = 0);
// Such numbers from -2 to 2 rounded to multiples of 1/8, which every float dtype holds exactly.
Literal eighths(const TensorType& type, int salt = 0);

}  // namespace tenon
