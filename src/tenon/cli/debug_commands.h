// `tenon debug …`: looking into an experiment's train step.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace tenon {

// Adds `dump` (the train step as it was traced, after each pass and as StableHLO) and `inspect` (a module's values on
// one batch) to `app`. When one is parsed, `action` becomes what it does.
void add_debug_commands(CLI::App& app, std::function<void()>& action);

}  // namespace tenon
