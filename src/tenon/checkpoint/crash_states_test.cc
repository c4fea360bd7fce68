// Every disk that a crash during a save may leave: what was written up to some call, where each directory has its
// changes since it was last synced only up to some point, and each file its bytes since it was last synced not at all,
// in part, or whole, independently.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "tenon/base/file_observer.h"
#include "tenon/checkpoint/checkpoint_test_util.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

// A file or directory, whatever its name is at the time.
struct Node {
  bool is_dir = false;
  fs::path original;  // there before the save: copied from there as it is
  std::string bytes;
  size_t synced_bytes = 0;
  // Changes of names in it, in order: a name and what it stands for then (none: nothing), several at once.
  using Change = std::vector<std::pair<std::string, std::optional<size_t>>>;
  std::vector<Change> changes;
  size_t synced_changes = 0;
};

class Disk {
 public:
  explicit Disk(const fs::path& root, const fs::path& copy) : root_(root) {
    nodes_.push_back({.is_dir = true});
    for (const auto& entry : fs::directory_iterator(root)) {
      nodes_.push_back({.is_dir = entry.is_directory(), .original = copy / entry.path().filename()});
      nodes_[0].changes.push_back({{entry.path().filename().string(), nodes_.size() - 1}});
    }
    nodes_[0].synced_changes = nodes_[0].changes.size();
  }

  void apply(const FileOp& op) {
    const fs::path path = op.path;
    const std::string name = path.filename().string();
    switch (op.kind) {
      case FileOp::Kind::make_dir:
      case FileOp::Kind::create:
        nodes_.push_back({.is_dir = op.kind == FileOp::Kind::make_dir});
        return node(path.parent_path()).changes.push_back({{name, nodes_.size() - 1}});
      case FileOp::Kind::write:
        node(path).bytes += op.bytes;
        return;
      case FileOp::Kind::sync_file:
        node(path).synced_bytes = node(path).bytes.size();
        return;
      case FileOp::Kind::sync_dir:
        node(path).synced_changes = node(path).changes.size();
        return;
      case FileOp::Kind::rename: {
        const size_t moved = find(path);
        return node(path.parent_path())
            .changes.push_back({{name, std::nullopt}, {fs::path(op.to).filename().string(), moved}});
      }
      case FileOp::Kind::exchange: {
        const size_t a = find(path), b = find(op.to);
        return node(path.parent_path()).changes.push_back({{name, b}, {fs::path(op.to).filename().string(), a}});
      }
      case FileOp::Kind::remove:
        return node(path.parent_path()).changes.push_back({{name, std::nullopt}});
    }
  }

  // What is open to chance in each node: how many states it may be in.
  size_t choices(size_t i) const {
    const Node& n = nodes_[i];
    if (n.is_dir) return n.changes.size() - n.synced_changes + 1;
    return n.bytes.size() == n.synced_bytes ? 1 : 2 + (n.bytes.size() - n.synced_bytes - 1) / kSector;
  }
  size_t size() const { return nodes_.size(); }
  // The disk where node i is in state choice[i].
  void build(const fs::path& at, const std::vector<size_t>& choice) const { build_dir(0, at, choice); }

 private:
  static constexpr size_t kSector = 512;

  using Names = std::map<std::string, size_t>;
  static Names names(const Node& dir, size_t changes) {
    Names out;
    for (size_t i = 0; i < changes; ++i) {
      for (const auto& [name, what] : dir.changes[i]) {
        if (what) {
          out[name] = *what;
        } else {
          out.erase(name);
        }
      }
    }
    return out;
  }
  size_t find(const fs::path& path) const {
    size_t at = 0;
    const fs::path inner = path.lexically_relative(root_);
    if (inner == ".") return at;
    for (const fs::path& part : inner) at = names(nodes_[at], nodes_[at].changes.size()).at(part.string());
    return at;
  }
  Node& node(const fs::path& path) { return nodes_[find(path)]; }

  void build_dir(size_t i, const fs::path& at, const std::vector<size_t>& choice) const {
    const Node& dir = nodes_[i];
    fs::create_directory(at);
    for (const auto& [name, what] : names(dir, dir.synced_changes + choice[i])) {
      const Node& entry = nodes_[what];
      if (!entry.original.empty()) {
        fs::copy(entry.original, at / name, fs::copy_options::recursive | fs::copy_options::create_hard_links);
      } else if (entry.is_dir) {
        build_dir(what, at / name, choice);
      } else {
        const size_t length = std::min(entry.bytes.size(), entry.synced_bytes + choice[what] * kSector);
        std::ofstream(at / name, std::ios::binary) << entry.bytes.substr(0, length);
      }
    }
  }

  fs::path root_;
  std::vector<Node> nodes_;
};

// Several sectors a shard: two tensors of so many values.
SaveRequest large_request(int64_t step, int64_t values) {
  SaveRequest request = example_request(step);
  for (const char* name : {"a", "b"}) {
    Literal value(TensorType{DType::f32, {values}});
    for (int64_t i = 0; i < value.size(); ++i) value.set(i, static_cast<double>(step * 1000 + i));
    request.tensors.emplace_back(name, std::move(value));
  }
  return request;
}

class CrashStatesTest : public CheckpointDirTest {
 protected:
  ~CrashStatesTest() override {
    set_file_observer({});
    remove_tree(copy_).value();
    remove_tree(built_).value();
  }
  static SaveOptions two() { return {.keep = {.last_n = 2}, .max_shard_bytes = 4000}; }
  // Saves `step` on top of 1 and 2; the calls it made.
  std::vector<FileOp> record(int64_t step) {
    CheckpointWriter writer = CheckpointWriter::open(dir_, two()).value();
    for (const int64_t before : {1, 2}) writer.save(large_request(before, values_)).value();
    fs::copy(dir_, copy_, fs::copy_options::recursive);
    std::vector<FileOp> ops;
    set_file_observer([&](const FileOp& op) { ops.push_back(op); });
    disk_.emplace(dir_, copy_);
    writer.save(large_request(step, values_)).value();
    set_file_observer({});
    return ops;
  }
  // A crash in front of each call of a save, and behind the last: up to `most` states each.
  void check_save(size_t most) {
    bool committed = false;
    for (const FileOp& op : record(3)) {
      check_states(most, committed);
      if (HasFatalFailure()) return;
      disk_->apply(op);
      committed = committed || (op.kind == FileOp::Kind::sync_dir && op.path == dir_);
    }
    check_states(most, committed);
    EXPECT_TRUE(committed);
  }
  // Builds every state of the disk, or an even choice of them when there are more than `most`.
  void check_states(size_t most, bool committed) {
    size_t all = 1;
    for (size_t i = 0; i < disk_->size(); ++i) all *= disk_->choices(i);
    const size_t stride = all / most + 1;
    for (size_t state = 0; state < all; state += stride) {
      std::vector<size_t> choice(disk_->size());
      size_t rest = state;
      for (size_t i = 0; i < choice.size(); ++i) {
        choice[i] = rest % disk_->choices(i);
        rest /= disk_->choices(i);
      }
      remove_tree(built_).value();
      disk_->build(built_, choice);
      const Result<OpenedCheckpoint> found = open_latest(built_);
      ASSERT_TRUE(found.ok()) << found.error().what();
      ++states_;
      steps_.insert((*found).step());
      ASSERT_TRUE(!committed || (*found).step() == newest_) << (*found).step();
      const SaveRequest expected = large_request((*found).step(), values_);
      for (const auto& [name, value] : expected.tensors) ASSERT_EQ((*found).read(name).value(), value);
    }
  }

  const std::string copy_ = dir_ + ".copy", built_ = dir_ + ".built";
  std::optional<Disk> disk_;
  int64_t values_ = 900, newest_ = 3;
  size_t states_ = 0;
  std::set<int64_t> steps_;
};

TEST_F(CrashStatesTest, ASaveIsThereWholeOrNotAtAll) {
  check_save(60);
  EXPECT_EQ(steps_, (std::set<int64_t>{2, 3}));
  EXPECT_GT(states_, 300u);
}

TEST_F(CrashStatesTest, SlowThousandsOfStates) {
  values_ = 40000;
  check_save(5000);
  EXPECT_GT(states_, 2000u);
}

// The simulation itself: without the sync of a file, torn ones are found behind the rename.
TEST_F(CrashStatesTest, AMissingSyncWouldBeSeen) {
  bool torn = false;
  for (const FileOp& op : record(3)) {
    if (op.kind == FileOp::Kind::sync_file) continue;
    disk_->apply(op);
    if (op.kind != FileOp::Kind::sync_dir || op.path != dir_) continue;
    remove_tree(built_).value();
    disk_->build(built_, std::vector<size_t>(disk_->size(), 0));
    const Result<OpenedCheckpoint> found = open_latest(built_);
    torn = torn || (found.ok() && (*found).step() == 2);
  }
  EXPECT_TRUE(torn);
}

}  // namespace
}  // namespace tenon
