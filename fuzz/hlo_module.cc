// Input: an optimized program as plugins show it. What is accepted is consistent, and our reports can be made of it.
#include "tenon/pjrt/hlo_module.h"

#include "fuzz.h"
#include "tenon/aot/collectives.h"
#include "tenon/aot/cpu_workspace.h"
#include "tenon/aot/hlo_traffic.h"
#include "tenon/aot/hlo_work.h"
#include "tenon/aot/liveness.h"

namespace {

using tenon::fuzz::must;

void check(const tenon::pjrt::HloModule& m) {
  must(m.entry < m.computations.size(), "there is an entry");
  for (size_t c = 0; c < m.computations.size(); ++c) {
    const auto& instructions = m.computations[c].instructions;
    must(m.computations[c].root < instructions.size(), "there is a root");
    for (size_t i = 0; i < instructions.size(); ++i) {
      for (const size_t o : instructions[i].operands) must(o < i, "operands come first");
      for (const size_t callee : instructions[i].called) must(callee < c, "callees come first");
      must(instructions[i].shape.bytes() >= 0, "sizes don't wrap around");
    }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  const Result<pjrt::HloModule> module = pjrt::parse_hlo_module(fuzz::as_text(data, size));
  if (!module.ok()) return 0;
  check(*module);
  for (const CollectiveTotal& t : count_collectives(*module, Mesh{{"fsdp", 4}, {"model", 2}}, 4).totals) {
    must(t.bytes >= 0 && t.link_bytes >= 0 && t.network_bytes >= 0, "nothing moves backwards");
  }
  must(count_memory_traffic(*module) >= 0, "nothing is read backwards");
  must(count_work(*module).instructions >= 0, "nothing is undone");
  must(cpu_workspace(*module, 4, 8) > 0, "libraries take something");
  must(find_peak(*module).bytes >= 0, "memory isn't negative");
  return 0;
}
