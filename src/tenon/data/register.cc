#include "tenon/data/register.h"

#include "tenon/config/registry.h"
#include "tenon/data/text_dataset.h"

namespace tenon {

void register_data(Registry& registry) { registry.add<TextDataset>(); }

}  // namespace tenon
