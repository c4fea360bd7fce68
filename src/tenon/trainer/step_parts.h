// What the programs of a step are put together from. For the .cc files of programs alone.
#pragma once

#include <string>
#include <vector>

#include "tenon/ir/ops.h"
#include "tenon/trainer/gradients.h"
#include "tenon/trainer/train_step.h"

namespace tenon {

inline const TensorType kSeedType{DType::u32, {2}};

// What goes into a program and comes out, gathered argument by argument.
struct Signature {
  std::vector<std::string> names;
  std::vector<TensorType> types;
  std::vector<PartitionSpec> specs;
  std::vector<MemoryKind> memory;

  void add(std::string name, TensorType type, PartitionSpec spec = {}, MemoryKind where = MemoryKind::device) {
    names.push_back(std::move(name));
    types.push_back(std::move(type));
    specs.push_back(std::move(spec));
    memory.push_back(where);
  }
  void add_state(const StateLayout& layout, size_t count, const Mesh& mesh) {
    for (size_t i = 0; i < count; ++i) {
      const StateArray& a = layout.arrays[i];
      add(a.name, a.stored_type(mesh), a.partition, a.memory);
    }
  }
  void add_batch(const BatchTypes& batch) {
    for (const auto& [name, type] : batch) add("batch." + name, type, batch_partition());
  }
};

// Takes the arguments of a program one after another.
class Arguments {
 public:
  explicit Arguments(const std::vector<Tensor>& tensors) : tensors_(tensors) {}
  Tensor take() { return tensors_.at(next_++); }
  Nest take_all(const std::vector<ParamInfo>& infos) {
    Nest out;
    for (const ParamInfo& info : infos) out.emplace(info.path, take());
    return out;
  }
  Nest take_batch(const BatchTypes& types) {
    Nest out;
    for (const auto& [name, type] : types) out.emplace(name, take());
    return out;
  }

 private:
  const std::vector<Tensor>& tensors_;
  size_t next_ = 0;
};

void append(std::vector<Tensor>& out, const std::vector<ParamInfo>& infos, const Nest& values);

// What a program returns.
struct Results {
  std::vector<PartitionSpec> specs;
  std::vector<MemoryKind> memory;

  void add(PartitionSpec spec = {}, MemoryKind where = MemoryKind::device) {
    specs.push_back(std::move(spec));
    memory.push_back(where);
  }
  static Results state(const StateLayout& layout) {
    Results out;
    for (const StateArray& a : layout.arrays) out.add(a.partition, a.memory);
    return out;
  }
};

// `num_donated` of the arguments, the first, give their memory to the results of the same places.
Program finish(Graph& graph, const Mesh& mesh, const Signature& in, const Results& out, size_t num_donated,
               const KernelList& kernels = {}, const PassObserver& observer = {});

// Of the model's arrays those that are trained, or the others.
Nest select_by_name(const StateLayout& layout, const Nest& all, bool trainable);

// Named numbers as one array, so that one transfer brings them to the host.
class Metrics {
 public:
  void add(std::string name, const Tensor& value);
  // The first elements of a vector, one for each name.
  void add_each(const std::string& prefix, const std::vector<std::string>& names, const Tensor& values);
  Tensor packed() const { return concatenate(values_, 0); }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::vector<Tensor> values_;
};

// Throws `mesh_mismatch` where the batch doesn't divide.
void check_batch(const StepSettings& settings);

// The names of what `scalars` holds, and its elements by these.
std::vector<std::string> scalar_names(const Learner& learner);
Nest unpack(const std::vector<std::string>& names, const Tensor& scalars);

// The key of a step's random draws.
Tensor step_key(const Tensor& seed, const Tensor& step);
// Splits parameters that are trained, and their gradients, as the learner sees them.
void split_for_update(const StateLayout& layout, Nest& params, Nest& grads);
// The model's arrays after a step: of those that aren't trained `states`, unless the step is skipped.
void append_model(std::vector<Tensor>& out, const StateLayout& layout, const Nest& before, const Nest& states,
                  const Learner::Update& update);

}  // namespace tenon
