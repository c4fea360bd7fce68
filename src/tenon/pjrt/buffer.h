// An array in the memory of one device.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tenon/base/result.h"
#include "tenon/base/shape.h"
#include "tenon/pjrt/event.h"

struct PJRT_Buffer;

namespace tenon::pjrt {

// Move-only owner. Keeps its client alive. A buffer that was donated to an execution is deleted: it can only be
// destroyed.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<const Client> client, PJRT_Buffer* buffer);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  explicit operator bool() const { return buffer_ != nullptr; }
  PJRT_Buffer* raw() const { return buffer_; }

  // The element type and dimensions on the device. Errors: `unsupported` for an element type tenon doesn't have.
  Result<TensorType> type() const;
  // Bytes it takes on the device.
  Result<int64_t> size_in_bytes() const;
  // Whether its contents are gone: donated, or freed.
  Result<bool> is_deleted() const;
  // Starts copying the contents, dense and row-major, to `out`, which must stay alive until the event happened and be
  // as long as the array is.
  Result<Event> copy_to_host(std::span<std::byte> out) const;
  // Happens when the contents are there; carries the error of the program that should have made them.
  Result<Event> ready() const;

 private:
  void destroy();
  std::shared_ptr<const Client> client_;
  PJRT_Buffer* buffer_ = nullptr;
};

}  // namespace tenon::pjrt
