// StableHLO text of the ops with regions.
#pragma once

#include "tenon/ir/hlo_writer.h"

namespace tenon {

void print_scan(HloWriter& w, const OpInfo& op);
void print_while(HloWriter& w, const OpInfo& op);
// cond and case.
void print_branches(HloWriter& w, const OpInfo& op);

}  // namespace tenon
