#include "tenon/data/register.h"

#include "tenon/config/registry.h"
#include "tenon/data/image_dataset.h"
#include "tenon/data/span_corruption.h"
#include "tenon/data/text_dataset.h"
#include "tenon/data/token_dataset.h"
#include "tenon/text/register.h"

namespace tenon {

void register_data(Registry& registry) {
  register_text(registry);
  registry
      .add<TextDataset, TokenDataset, TokenSource, SpanCorruption, ImageDataset, RandomFlip, RandomShift, RandomCrop>();
}

}  // namespace tenon
