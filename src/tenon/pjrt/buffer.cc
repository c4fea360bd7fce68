#include "tenon/pjrt/buffer.h"

#include <fmt/format.h>

#include <utility>

#include "tenon/pjrt/c_api.h"
#include "tenon/pjrt/client.h"

namespace tenon::pjrt {

Buffer::Buffer(std::shared_ptr<const Client> client, PJRT_Buffer* buffer)
    : client_(std::move(client)), buffer_(buffer) {}

Buffer::~Buffer() { destroy(); }

Buffer::Buffer(Buffer&& other) noexcept
    : client_(std::move(other.client_)), buffer_(std::exchange(other.buffer_, nullptr)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  destroy();
  client_ = std::move(other.client_);
  buffer_ = std::exchange(other.buffer_, nullptr);
  return *this;
}

void Buffer::destroy() {
  if (buffer_ == nullptr) return;
  const PJRT_Api* api = client_->plugin()->api();
  TENON_PJRT_ARGS(Buffer_Destroy, args);
  args.buffer = std::exchange(buffer_, nullptr);
  ignore(api, api->PJRT_Buffer_Destroy(&args));
}

Result<TensorType> Buffer::type() const {
  const PJRT_Api* api = client_->plugin()->api();
  TENON_PJRT_ARGS(Buffer_ElementType, element);
  element.buffer = buffer_;
  if (Status s = to_status(api, api->PJRT_Buffer_ElementType(&element), "give a buffer's element type"); !s) {
    return s.error();
  }
  TENON_PJRT_ARGS(Buffer_Dimensions, shape);
  shape.buffer = buffer_;
  if (Status s = to_status(api, api->PJRT_Buffer_Dimensions(&shape), "give a buffer's dimensions"); !s) {
    return s.error();
  }
  Result<DType> dtype = from_pjrt(number_of(element.type));
  if (!dtype) return dtype.error();
  return TensorType{*dtype, Dims(shape.dims, shape.dims + shape.num_dims)};
}

Result<int64_t> Buffer::size_in_bytes() const {
  const PJRT_Api* api = client_->plugin()->api();
  TENON_PJRT_ARGS(Buffer_OnDeviceSizeInBytes, args);
  args.buffer = buffer_;
  if (Status s = to_status(api, api->PJRT_Buffer_OnDeviceSizeInBytes(&args), "give a buffer's size"); !s) {
    return s.error();
  }
  return static_cast<int64_t>(args.on_device_size_in_bytes);
}

Result<bool> Buffer::is_deleted() const {
  const PJRT_Api* api = client_->plugin()->api();
  TENON_PJRT_ARGS(Buffer_IsDeleted, args);
  args.buffer = buffer_;
  if (Status s = to_status(api, api->PJRT_Buffer_IsDeleted(&args), "say whether a buffer lives"); !s) return s.error();
  return args.is_deleted;
}

Result<Event> Buffer::copy_to_host(std::span<std::byte> out) const {
  Result<TensorType> held = type();
  if (!held) return held.error();
  if (static_cast<int64_t>(out.size()) != byte_size(*held)) {
    return Error(ErrorCode::shape_mismatch, "the memory to copy to doesn't have the size of the array")
        .got(fmt::format("{} bytes", out.size()))
        .expected(fmt::format("{} bytes for {}", byte_size(*held), to_string(*held)));
  }
  // The layout on the device may be transposed or tiled: ask for the plain one.
  Dims minor_to_major(held->dims.size());
  for (size_t i = 0; i < minor_to_major.size(); ++i) {
    minor_to_major[i] = static_cast<int64_t>(minor_to_major.size() - 1 - i);
  }
  PJRT_Buffer_MemoryLayout layout{};
  layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = minor_to_major.size();

  const PJRT_Api* api = client_->plugin()->api();
  TENON_PJRT_ARGS(Buffer_ToHostBuffer, args);
  args.src = buffer_;
  args.host_layout = &layout;
  args.dst = out.data();
  args.dst_size = out.size();
  Status status = to_status(api, api->PJRT_Buffer_ToHostBuffer(&args), "copy an array from a device");
  if (!status) return status.error();
  return Event(client_, args.event);
}

Result<Event> Buffer::ready() const {
  const PJRT_Api* api = client_->plugin()->api();
  TENON_PJRT_ARGS(Buffer_ReadyEvent, args);
  args.buffer = buffer_;
  if (Status s = to_status(api, api->PJRT_Buffer_ReadyEvent(&args), "watch a buffer"); !s) return s.error();
  return Event(client_, args.event);
}

}  // namespace tenon::pjrt
