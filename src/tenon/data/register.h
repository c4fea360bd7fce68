// Puts this folder's classes into a registry.
#pragma once

namespace tenon {

class Registry;

void register_data(Registry& registry);

}  // namespace tenon
