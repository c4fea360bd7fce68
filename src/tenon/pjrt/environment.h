// Private to this folder: what must be true of the process before a plugin is loaded.
#pragma once

#include <string>
#include <string_view>

namespace tenon::pjrt {

// Sets the environment variables a platform's plugin reads, never overriding the user's, and loads the libraries that
// it links to but can't find. `path` is the plugin's file. Not thread-safe against other users of the environment.
void prepare_process(std::string_view platform, const std::string& path);

}  // namespace tenon::pjrt
