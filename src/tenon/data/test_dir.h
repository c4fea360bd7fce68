// For tests: a directory of its own, removed at the end.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tenon/base/error.h"
#include "tenon/base/file.h"

namespace tenon {

class TestDir : public testing::Test {
 protected:
  TestDir() : dir_(testing::TempDir() + "tenon_data_" + random_suffix()) { make_dirs(dir_).value(); }
  ~TestDir() override { remove_tree(dir_).value(); }
  std::string path(const std::string& name) const { return join_path(dir_, name); }
  std::string write(const std::string& name, const std::string& content) const {
    make_dirs(parent_dir(path(name))).value();
    write_file_atomic(path(name), content).value();
    return path(name);
  }
  // What `f` throws; "nothing" if it doesn't.
  template <class F>
  static Error thrown(F f) {
    try {
      f();
    } catch (const Error& error) {
      return error;
    }
    return Error(ErrorCode::internal, "nothing was thrown");
  }
  std::string dir_;
};

}  // namespace tenon
