// A directory and small checkpoints for tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tenon/base/fault.h"
#include "tenon/base/file.h"
#include "tenon/checkpoint/checkpoint.h"
#include "tenon/checkpoint/checkpoint_writer.h"

namespace tenon {

// A name for a new directory, in memory where there is such a place: these tests wait for the disk thousands of times.
inline std::string new_test_dir() {
  const std::string memory = "/dev/shm/";
  return (::access(memory.c_str(), W_OK) == 0 ? memory : testing::TempDir()) + "tenon_checkpoint_" + random_suffix();
}

// Three tensors whose values tell the step, over two files.
inline SaveRequest example_request(int64_t step) {
  const auto s = static_cast<double>(step);
  SaveRequest request;
  request.step = step;
  request.tensors = {{"decoder.layers.0.w", Literal::from(DType::f32, {3, 2}, std::vector<double>{s, 1, 2, 3, 4, s})},
                     {"decoder.emb", Literal::from(DType::bf16, {4}, std::vector<double>{5, 6, s, 8})},
                     {"count", Literal::scalar_int(DType::i64, step)}};
  request.files = {{"config.toml", "step = " + std::to_string(step) + "\n"}};
  request.metadata = {{"data_position", std::to_string(4 * step)}};
  return request;
}

inline void expect_is_example(const OpenedCheckpoint& checkpoint, int64_t step) {
  const SaveRequest expected = example_request(step);
  EXPECT_EQ(checkpoint.step(), step);
  EXPECT_EQ(checkpoint.names().size(), expected.tensors.size());
  for (const auto& [name, value] : expected.tensors) EXPECT_EQ(checkpoint.read(name).value(), value) << name;
  EXPECT_EQ(checkpoint.metadata(), expected.metadata);
  EXPECT_EQ(checkpoint.file("config.toml").value(), expected.files.at("config.toml"));
}

class CheckpointDirTest : public testing::Test {
 protected:
  CheckpointDirTest() : dir_(new_test_dir()) {}
  ~CheckpointDirTest() override {
    set_fault_handler({});
    remove_tree(dir_).value();
  }
  std::string path(const std::string& name) const { return join_path(dir_, name); }
  static SaveOptions options(int64_t keep_last = 3) { return {.keep = {.last_n = keep_last}, .max_shard_bytes = 24}; }
  // Saves the examples of these steps and lets the directory go.
  void save(const std::vector<int64_t>& steps, int64_t keep_last = 3) const {
    CheckpointWriter writer = CheckpointWriter::open(dir_, options(keep_last)).value();
    for (const int64_t step : steps) writer.save(example_request(step)).value();
  }
  std::string dir_;
};

}  // namespace tenon
