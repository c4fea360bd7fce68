#include "tenon/pjrt/environment.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

#include "tenon/base/mapped_file.h"

namespace tenon::pjrt {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLogLevel = "TF_CPP_MIN_LOG_LEVEL";
std::atomic<bool> own_log_level = false;

void set_default(const char* name, const char* value) { setenv(name, value, 0); }

// XLA ends the process when devices wait for each other longer than this; its own limits (20 and 40 seconds) are too
// short where many virtual devices share few cores. XLA_FLAGS is read once, and a flag the plugin doesn't know ends the
// process too: so only those whose names are in the plugin's file.
void raise_cpu_collective_timeouts(const std::string& plugin_file) {
  const Result<MappedFile> file = MappedFile::open(plugin_file);
  if (!file) return;
  const char* current = std::getenv("XLA_FLAGS");
  std::string flags = current == nullptr ? "" : current;
  for (const std::string_view name :
       {"xla_cpu_collective_call_warn_stuck_timeout_seconds", "xla_cpu_collective_call_terminate_timeout_seconds"}) {
    if (flags.find(name) != std::string::npos) continue;
    const std::span<const std::byte> bytes = (*file).bytes();
    if (memmem(bytes.data(), bytes.size(), name.data(), name.size()) == nullptr) continue;
    flags += (flags.empty() ? "--" : " --") + std::string(name) + "=1200";
  }
  if (!flags.empty()) setenv("XLA_FLAGS", flags.c_str(), 1);
}

// Without a TPU in the machine libtpu asks a metadata server that isn't there for minutes, and refuses to be loaded by
// two processes at once; both don't matter for compiling ahead of time.
void prepare_tpu() {
  std::error_code ignored;
  if (fs::exists("/dev/accel0", ignored) || fs::exists("/dev/vfio/0", ignored)) return;
  set_default("TPU_SKIP_MDS_QUERY", "1");
  set_default("TPU_WORKER_HOSTNAMES", "localhost");
  set_default("TPU_WORKER_ID", "0");
  set_default("TPU_ACCELERATOR_TYPE", "v5p-8");  // any; the machine to compile for is named by its topology
  set_default("ALLOW_MULTIPLE_LIBTPU_LOAD", "1");
}

// NVIDIA's wheels put each library into its own folder, where no loader looks. What is missing shows when the plugin
// needs it: compiling ahead of time needs none of them.
void load_nvidia_libraries(const fs::path& folder) {
  constexpr std::array<std::string_view, 13> kOrder = {
      "libcudart.so",       "libnvrtc.so",       "libnvJitLink.so", "libcublasLt.so", "libcublas.so",
      "libnccl.so",         "libcupti.so",       "libcusparse.so",  "libcusolver.so", "libcufft.so",
      "libnvshmem_host.so", "libcudnn_graph.so", "libcudnn.so"};
  std::error_code failed;
  std::map<std::string, fs::path> found;
  for (fs::recursive_directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    const size_t suffix = name.find(".so");
    if (suffix != std::string::npos) found.emplace(name.substr(0, suffix + 3), it->path());
  }
  for (const std::string_view name : kOrder) {
    const auto it = found.find(std::string(name));
    if (it != found.end()) dlopen(it->second.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
}

}  // namespace

void prepare_process(std::string_view platform, const std::string& path) {
  if (std::getenv(kLogLevel) == nullptr) {
    own_log_level = true;
    setenv(kLogLevel, "1", 0);  // warnings: those about ops of a program are shown
  }
  if (platform == "cpu") raise_cpu_collective_timeouts(path);
  if (platform == "tpu") prepare_tpu();
  if (platform == "cuda") load_nvidia_libraries(fs::path(path).parent_path() / "nvidia");
}

bool user_set_log_level() { return std::getenv(kLogLevel) != nullptr && !own_log_level; }

}  // namespace tenon::pjrt
