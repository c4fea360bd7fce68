#include "tenon/nn/vision/image_encoder.h"

#include "tenon/config/define.h"

namespace tenon {

TENON_INTERFACE(ImageEncoder, Module, "from images to a vector each", {"channels", "numbers of a pixel"},
                {"output_dim", "of the vector"})

}  // namespace tenon
