// The code of one device along the mesh axis `pipeline`, and lists of tensors that go into it and out.
#pragma once

#include <functional>
#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/ir/tensor.h"

namespace tenon {

void extend(std::vector<Tensor>& to, const std::vector<Tensor>& more);

// Takes lists off an array of tensors, which must stay, one after another.
class TensorReader {
 public:
  explicit TensorReader(const std::vector<Tensor>& all) : all_(all) {}
  std::vector<Tensor> take(size_t count);
  Tensor take_one() { return all_.at(next_++); }
  std::vector<Tensor> rest() { return take(all_.size() - next_); }

 private:
  const std::vector<Tensor>& all_;
  size_t next_ = 0;
};

// Arrays of which each device has its own, and arrays that all devices have. Outside of a device's code the former have
// a first dimension of devices.
struct DeviceArrays {
  std::vector<Tensor> own, common;
};

// `body` on every device along the axis, in a manual region over it alone. It may use nothing from outside; results
// that are `common` must be the same on all devices.
DeviceArrays on_devices(const Mesh& mesh, const DeviceArrays& inputs, size_t num_own, size_t num_common,
                        const std::function<DeviceArrays(const DeviceArrays&)>& body);

}  // namespace tenon
