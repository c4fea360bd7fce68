#include "tenon/pjrt/shown_platform.h"

#include <fmt/format.h>

#include <cstdlib>

#include "tenon/pjrt/plugin.h"

namespace tenon::pjrt {
namespace {

// PJRT_Extension_Type_TpuTopology, which this version of the header doesn't have yet.
constexpr int kTpuTopology = 16;

bool has_attribute(const PJRT_Api* api, std::string_view name) {
  TENON_PJRT_ARGS(Plugin_Attributes, args);
  if (!to_status(api, api->PJRT_Plugin_Attributes(&args), "describe itself")) return false;
  for (size_t i = 0; i < args.num_attributes; ++i) {
    if (std::string_view(args.attributes[i].name, args.attributes[i].name_size) == name) return true;
  }
  return false;
}

}  // namespace

std::string shown_platform(const PJRT_Api* api) {
  if (find_extension(api, kTpuTopology) != nullptr) return "tpu";
  if (find_extension(api, PJRT_Extension_Type_Gpu_Custom_Call) == nullptr) return "";
  return has_attribute(api, "cuda_version") ? "cuda" : "rocm";
}

Status check_platform(std::string_view shown, std::string_view wanted, const std::string& path) {
  if (shown.empty() || shown == wanted || !is_known_platform(wanted)) return {};
  return another_platform(path, shown, wanted);
}

Error another_platform(const std::string& path, std::string_view shown, std::string_view wanted) {
  const char* user = std::getenv("TENON_PLUGIN_PATH");
  const bool is_users = user != nullptr && path == user;
  return Error(ErrorCode::plugin, "the plugin is for another platform")
      .at(path)
      .got(std::string(shown))
      .expected(std::string(wanted))
      .hint(is_users ? fmt::format("TENON_PLUGIN_PATH names it: set it to a plugin for {0}, or to a folder that holds "
                                   "{0}/*.so, or unset it",
                                   wanted)
                     : "");
}

}  // namespace tenon::pjrt
