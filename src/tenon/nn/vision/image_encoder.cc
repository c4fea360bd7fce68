#include "tenon/nn/vision/image_encoder.h"

#include "tenon/config/define.h"

namespace tenon {

TENON_INTERFACE(ImageEncoder, Module, "from images to a vector each", {"height", "rows of an image"},
                {"width", "columns of an image"}, {"channels", "numbers of a pixel"}, {"output_dim", "of the vector"})

}  // namespace tenon
