// `tenon config …`, `tenon golden …` and `tenon completion …`: what looks at experiments without running them.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace tenon {

// Adds them to `app`. When one is parsed, `action` becomes what it does.
void add_config_commands(CLI::App& app, std::function<void()>& action);
void add_golden_commands(CLI::App& app, std::function<void()>& action);
void add_completion_command(CLI::App& app, std::function<void()>& action);

}  // namespace tenon
