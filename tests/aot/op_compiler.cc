// Compiles cases of ir/testing/op_cases.h ahead of time, for ops_test.py: in a process of its own, because compilers
// may end the process for a program they don't understand.
//
//   tenon_op_compiler             prints "row OP" for each row of the op table, "case DEVICES OP LABEL" for each case
//   tenon_op_compiler TARGET      reads lines of case numbers, of cases for as many devices as TARGET has; puts the
//   cases
//                                 of a line into one program, compiles it and answers "ok" or "error WORDS". Exits with
//                                 77 at once when the plugin isn't installed.
#include <algorithm>
#include <iostream>
#include <sstream>

#include "tenon/base/error.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/testing/op_cases.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/aot.h"
#include "tenon/runtime/jit.h"

namespace tenon {
namespace {

constexpr int kNoPlugin = 77;

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void list() {
  for (const OpDef* def : op_table()) std::cout << "row " << def->name << "\n";
  for (const OpCase& c : op_cases()) std::cout << "case " << c.mesh.num_devices() << " " << c.name() << "\n";
}

std::string compile_line(const AotMachine& machine, const std::string& line) {
  std::vector<const OpCase*> cases;
  std::istringstream numbers(line);
  for (size_t i = 0; numbers >> i;) cases.push_back(&op_cases().at(i));
  try {
    Graph graph = graph_of(cases);
    ProgramSpec spec;
    spec.mesh = cases.at(0)->mesh;
    machine.compile(spec.mesh, make_program(graph, spec));
    return "ok";
  } catch (const Error& e) {
    return "error " + one_line(e.what());
  }
}

int serve(const AotTarget& target) {
  if (const Result<std::string> plugin = pjrt::find_plugin(target.platform); !plugin) {
    std::cout << one_line(plugin.error().what()) << "\n";
    return kNoPlugin;
  }
  const AotMachine machine = AotMachine::open(target);
  for (std::string line; std::getline(std::cin, line);) std::cout << compile_line(machine, line) << std::endl;
  return 0;
}

int run(int argc, char** argv) {
  try {
    if (argc == 2) return serve(AotTarget::parse(argv[1]));
    list();
    return 0;
  } catch (const Error& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) { return tenon::run(argc, argv); }
