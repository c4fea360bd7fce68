// Private to this folder: what must be true of the process before a plugin is loaded.
#pragma once

#include <string>
#include <string_view>

namespace tenon::pjrt {

// Sets the environment variables a platform's plugin reads, never overriding the user's, and loads the libraries that
// it links to but can't find. `path` is the plugin's file. Not thread-safe against other users of the environment.
void prepare_process(std::string_view platform, const std::string& path);

// Whether it was the user who set how much plugins log (TF_CPP_MIN_LOG_LEVEL).
bool user_set_log_level();

}  // namespace tenon::pjrt
