#pragma once

namespace tenon {

class Registry;

// Adds the layer's classes.
void register_text(Registry& registry);

}  // namespace tenon
