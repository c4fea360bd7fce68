// `tenon data …`: from text to what training reads.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace tenon {

// Adds them to `app`. When one is parsed, `action` becomes what it does.
void add_data_commands(CLI::App& app, std::function<void()>& action);

}  // namespace tenon
