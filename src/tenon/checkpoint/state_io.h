// Between arrays as programs hold them and tensors as files hold them.
//
// In memory the arrays of a stack of layers lie behind one another and are padded to what the mesh divides. In files
// every layer has a tensor of its own, of its logical shape: any mesh and loop form can read what another has written.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/checkpoint/checkpoint.h"
#include "tenon/config/fields.h"
#include "tenon/runtime/array.h"

namespace tenon {

// One array of the state, f32 or bf16; a file may hold the other, which is converted. In the name of a stacked one, the
// component "k::p" says that row r is layer r * p + k: "decoder.layers.1::2.scale" is "decoder.layers.1.scale",
// "decoder.layers.3.scale", … in files.
struct StateArray {
  std::string name;
  Dims shape;         // logical, stack included
  int64_t stack = 0;  // layers in front; 0: none
  PartitionSpec partition;
  MemoryKind memory = MemoryKind::device;
  DType dtype = DType::f32;
  // As programs hold it on `mesh`: padded.
  TensorType stored_type(const Mesh& mesh) const;
};

// Whether a tensor of a checkpoint can be restored as the array, or a layer of it: it has its shape, and its dtype or
// one that is converted.
bool is_readable(const TensorType& tensor, const StateArray& array);

// What goes into files: `stored` without its padding, layers apart.
std::vector<std::pair<std::string, Literal>> to_file_tensors(const StateArray& array, const Literal& stored);

// What a learner keeps has names that begin so; all others are the model's.
inline constexpr std::string_view kLearnerPrefix = "learner.";

// What a checkpoint must hold of the tensors it is asked for: these and no others, or these at least.
enum class TreeCheck : uint8_t { exact, contains };
TENON_ENUM(TreeCheck, exact, contains)

// How the tensors of a checkpoint differ from those that arrays have in files: names, and types where these differ.
struct TreeDifference {
  std::vector<std::string> missing, unexpected, types;
  bool fits(TreeCheck check) const {
    return missing.empty() && types.empty() && (check == TreeCheck::contains || unexpected.empty());
  }
};
// "missing: a, b; unexpected: c and 3 more; of another shape: d (f32[2], expected f32[3])".
std::string to_string(const TreeDifference& difference);
// Of the tensors whose names `selected` takes.
TreeDifference compare_tree(std::span<const StateArray> arrays, const OpenedCheckpoint& checkpoint,
                            const std::function<bool(std::string_view)>& selected);

// Throws `incompatible`, saying what differs, unless the checkpoint holds exactly these arrays. Tensors whose names
// begin with `ignored` (unless empty) may be there or not.
void check_compatible(std::span<const StateArray> arrays, const OpenedCheckpoint& checkpoint,
                      std::string_view ignored = {});
// The array, padded and put on the devices of `mesh`. Reads what one device holds at a time, and nothing of a file that
// no device holds; this process never has the whole array unless one device does. Throws what reading the checkpoint
// gives; only Verify::all has compared what is read with its checksums.
Array restore_array(const StateArray& array, const OpenedCheckpoint& checkpoint,
                    const std::shared_ptr<const Backend>& backend, const Mesh& mesh);

}  // namespace tenon
