// Everything of tenon/nn that a config can name.
#pragma once

namespace tenon {

class Registry;
void register_nn(Registry& registry);

}  // namespace tenon
