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
#include "tenon/pjrt/installed_jax.h"

namespace tenon::pjrt {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLogLevel = "TF_CPP_MIN_LOG_LEVEL";
std::atomic<bool> own_log_level = false;

void set_default(const char* name, const char* value) { setenv(name, value, 0); }

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

// Whether the plugin knows an XLA flag: one that it doesn't know ends the process.
bool knows_flag(const MappedFile& plugin, std::string_view name) {
  const std::span<const std::byte> bytes = plugin.bytes();
  return memmem(bytes.data(), bytes.size(), name.data(), name.size()) != nullptr;
}

// XLA_FLAGS with those of the flags (name, value) that the user didn't set and the plugin knows. It is read once.
void add_xla_flags(const std::string& plugin_file, const std::map<std::string, std::string>& wanted) {
  const Result<MappedFile> file = MappedFile::open(plugin_file);
  if (!file) return;
  const char* current = std::getenv("XLA_FLAGS");
  std::string flags = current == nullptr ? "" : current;
  for (const auto& [name, value] : wanted) {
    if (flags.find(name) != std::string::npos || !knows_flag(*file, name)) continue;
    flags += (flags.empty() ? "--" : " --") + name + "=" + value;
  }
  if (!flags.empty()) setenv("XLA_FLAGS", flags.c_str(), 1);
}

// XLA ends the process when devices wait for each other longer than this; its own limits (20 and 40 seconds) are too
// short where many virtual devices share few cores.
void raise_cpu_collective_timeouts(const std::string& plugin_file) {
  add_xla_flags(plugin_file, {{"xla_cpu_collective_call_warn_stuck_timeout_seconds", "1200"},
                              {"xla_cpu_collective_call_terminate_timeout_seconds", "1200"}});
}

// NVIDIA's wheels put each library into its own folder, where no loader looks; those of CUDA 13 into one named cu13, so
// that both may be installed. What is missing shows when the plugin needs it: compiling ahead of time needs none of
// them.
void load_nvidia_libraries(const fs::path& folder, bool is_cuda12) {
  constexpr std::array<std::string_view, 13> kOrder = {
      "libcudart.so",       "libnvrtc.so",       "libnvJitLink.so", "libcublasLt.so", "libcublas.so",
      "libnccl.so",         "libcupti.so",       "libcusparse.so",  "libcusolver.so", "libcufft.so",
      "libnvshmem_host.so", "libcudnn_graph.so", "libcudnn.so"};
  std::error_code failed;
  std::map<std::string, fs::path> found;
  for (fs::recursive_directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    const size_t suffix = name.find(".so");
    if (suffix == std::string::npos) continue;
    const bool is_cu13 = it->path().string().find("/cu13/") != std::string::npos;
    if (is_cu13 && is_cuda12) continue;
    const auto [entry, is_first] = found.emplace(name.substr(0, suffix + 3), it->path());
    if (!is_first && is_cu13) entry->second = it->path();
  }
  for (const std::string_view name : kOrder) {
    const auto it = found.find(std::string(name));
    if (it != found.end()) dlopen(it->second.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
}

// NVIDIA's libraries, and where XLA finds ptxas and the like.
void prepare_cuda(const std::string& plugin_file) {
  const std::string folder = nvidia_folder(plugin_file);
  if (folder.empty()) return;
  const bool is_cuda12 = plugin_file.find("xla_cuda12") != std::string::npos;
  load_nvidia_libraries(folder, is_cuda12);
  const fs::path tools = fs::path(folder) / (is_cuda12 ? "cuda_nvcc" : "cu13");
  std::error_code unknown;
  if (fs::exists(tools / "bin" / "ptxas", unknown)) {
    add_xla_flags(plugin_file, {{"xla_gpu_cuda_data_dir", tools.string()}});
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
  if (platform == "cuda") prepare_cuda(path);
}

bool user_set_log_level() { return std::getenv(kLogLevel) != nullptr && !own_log_level; }

}  // namespace tenon::pjrt
