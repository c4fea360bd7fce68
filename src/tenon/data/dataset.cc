#include "tenon/data/dataset.h"

#include "tenon/config/define.h"

namespace tenon {

TENON_INTERFACE(Dataset, Configurable, "batches of token sequences by step", {"batch_size", "sequences in a batch"},
                {"sequence_length", "tokens in a sequence"}, {"seed", "of the order of the examples"})

}  // namespace tenon
