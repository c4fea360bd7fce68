#include "tenon/runtime/array.h"

#include <fmt/format.h>

#include <map>

#include "tenon/runtime/block_copy.h"

namespace tenon {
const Array::State& Array::state() const {
  if (state_ == nullptr) throw Error(ErrorCode::wrong_context, "an empty Array has no contents");
  return *state_;
}

const std::vector<pjrt::Buffer>& Array::buffers() const {
  if (state().donated) {
    throw Error(
        ErrorCode::wrong_context,
        fmt::format("the array {} was donated to a program; its memory holds something else now", to_string(type())))
        .hint("use the program's output instead, or copy with to_literal before the call");
  }
  return state_->buffers;
}

void Array::mark_donated() const {
  (void)buffers();
  state_->buffers.clear();
  state_->donated = true;
}

Array Array::from_buffers(std::shared_ptr<const Backend> backend, const Mesh& mesh, const PartitionSpec& spec,
                          TensorType type, std::vector<pjrt::Buffer> buffers, MemoryKind memory) {
  check(static_cast<int64_t>(buffers.size()) == mesh.num_devices(), "one buffer for each device of the mesh");
  Array result;
  PartitionSpec normal = mesh.normalize(spec, type.rank());
  result.state_ = std::make_shared<State>(
      State{std::move(backend), mesh, std::move(normal), std::move(type), std::move(buffers), memory, false});
  return result;
}

Array Array::from_literal(std::shared_ptr<const Backend> backend, const Mesh& mesh, const PartitionSpec& spec,
                          const Literal& literal, MemoryKind memory) {
  std::vector<std::byte> block;
  const auto piece = [&](const ArraySlice& slice) -> std::span<const std::byte> {
    if (slice.size == literal.dims()) return literal.bytes();
    block.resize(static_cast<size_t>(byte_size(TensorType{literal.dtype(), slice.size})));
    extract_block(literal.bytes(), literal.dims(), slice, byte_size(literal.dtype()), block);
    return block;
  };
  return from_blocks(std::move(backend), mesh, spec, literal.type(), piece, memory);
}

Array Array::from_blocks(std::shared_ptr<const Backend> backend, const Mesh& mesh, const PartitionSpec& spec,
                         TensorType type, const BlockSource& block, MemoryKind memory) {
  backend->check_devices(mesh);
  const PartitionSpec normal = mesh.normalize(spec, type.rank());
  const TensorType shard_type{type.dtype, mesh.shard_dims(type.dims, normal)};
  std::map<int64_t, std::vector<int64_t>> holders;  // by the first
  for (int64_t d = 0; d < mesh.num_devices(); ++d) holders[mesh.first_holder(normal, d)].push_back(d);
  std::vector<pjrt::Buffer> buffers(static_cast<size_t>(mesh.num_devices()));
  for (const auto& [first, devices] : holders) {
    const std::span<const std::byte> bytes = block(mesh.slice(type.dims, normal, first));
    for (const int64_t device : devices) {
      const pjrt::Device& to = backend->client().devices()[static_cast<size_t>(mesh.physical_device(device))];
      buffers[static_cast<size_t>(device)] = backend->client().copy_from_host(shard_type, bytes, to, memory).value();
    }
  }
  return from_buffers(std::move(backend), mesh, normal, std::move(type), std::move(buffers), memory);
}

Literal Array::shard(int64_t device) const {
  const std::vector<pjrt::Buffer>& from = buffers();
  Literal result(TensorType{type().dtype, mesh().slice(type().dims, spec(), device).size});
  from[static_cast<size_t>(device)].copy_to_host(result.bytes()).value().wait().value();
  return result;
}

Literal Array::to_literal() const {
  const std::vector<pjrt::Buffer>& from = buffers();
  if (mesh().shard_dims(type().dims, spec()) == type().dims) return shard(0);
  // All copies are under way before the first is waited for, and over before the memory they write to goes.
  std::vector<int64_t> holders;
  std::vector<Literal> pieces;
  for (int64_t d = 0; d < mesh().num_devices(); ++d) {
    if (mesh().first_holder(spec(), d) != d) continue;
    holders.push_back(d);
    pieces.emplace_back(TensorType{type().dtype, mesh().slice(type().dims, spec(), d).size});
  }
  std::vector<pjrt::Event> copied;
  copied.reserve(holders.size());
  Status failed;
  for (size_t i = 0; i < holders.size() && failed; ++i) {
    Result<pjrt::Event> copy = from[static_cast<size_t>(holders[i])].copy_to_host(pieces[i].bytes());
    if (copy) copied.push_back(std::move(copy).value());
    if (!copy) failed = copy.error();
  }
  for (const pjrt::Event& event : copied) {
    if (Status s = event.wait(); !s) failed = s;
  }
  failed.value();
  Literal result(type());
  for (size_t i = 0; i < holders.size(); ++i) {
    insert_block(pieces[i].bytes(), mesh().slice(type().dims, spec(), holders[i]), type().dims, byte_size(type().dtype),
                 result.bytes());
  }
  return result;
}

void Array::wait() const {
  for (const pjrt::Buffer& buffer : buffers()) buffer.ready().value().wait().value();
}

}  // namespace tenon
