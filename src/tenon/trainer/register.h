// Puts this folder's classes into a registry.
#pragma once

namespace tenon {

class Registry;

void register_trainer(Registry& registry);

}  // namespace tenon
