// The devices programs run on in this process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/kernels/kernels.h"
#include "tenon/pjrt/client.h"

namespace tenon {

struct Chip;

class Backend {
 public:
  // "cpu" (one device), "cpu:4" (four virtual devices on the same cores), "cuda", "tpu", "rocm". Finds and loads the
  // plugin. Throws `unknown_name`, `invalid_argument`, or `plugin` with what to install.
  static std::shared_ptr<const Backend> open(std::string_view platform);
  // A device by its description: with its plugin, options, flags and kernels. Throws `plugin` too where the plugin or
  // its devices say they are something else, `unsupported` where it can't run a kernel that the description names.
  static std::shared_ptr<const Backend> open(const Chip& chip);
  // Around a client that is already there. `platform` as in open, without a number.
  Backend(std::string platform, std::shared_ptr<const pjrt::Client> client);

  // "cpu", "cuda", "tpu", "rocm", or what a description says.
  const std::string& platform() const { return platform_; }
  int64_t num_devices() const { return static_cast<int64_t>(client_->devices().size()); }
  // In the order of the client's devices.
  std::vector<int64_t> device_ids() const;
  // Throws `mesh_mismatch` when the mesh has more devices than there are.
  void check_devices(const Mesh& mesh) const;
  // The kind of the first device: "cpu", "NVIDIA H200".
  const std::string& device_kind() const { return client_->devices().front().kind; }
  const pjrt::Client& client() const { return *client_; }
  // XLA flags every program is compiled with here; a program's own override them.
  const std::map<std::string, std::string>& default_flags() const { return default_flags_; }
  // What is known of the devices beyond what they say; null where that is nothing.
  const Chip* chip() const { return chip_.get(); }
  // Own kernels that programs may call here; none where the plugin can't run them.
  const KernelList& kernels() const { return kernels_; }

 private:
  Backend(std::string platform, std::shared_ptr<const pjrt::Client> client, std::shared_ptr<const Chip> chip);
  void take_kernels();

  std::string platform_;
  std::shared_ptr<const pjrt::Client> client_;
  std::shared_ptr<const Chip> chip_;
  std::map<std::string, std::string> default_flags_;
  KernelList kernels_;
};

}  // namespace tenon
