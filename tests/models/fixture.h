// Arrays made by the scripts of tests/fixtures.
#pragma once

#include <string>

#include "tenon/checkpoint/safetensors.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {

class Fixture {
 public:
  // tests/fixtures/<name>.safetensors
  explicit Fixture(const std::string& name)
      : file_(
            SafetensorsFile::open(std::string(TENON_SOURCE_DIR) + "/tests/fixtures/" + name + ".safetensors").value()) {
  }

  Literal operator[](const std::string& name) const { return file_.read(name).value(); }
  // Those whose names begin with `prefix`, without it.
  Values all(const std::string& prefix) const {
    Values out;
    for (const TensorInfo& info : file_.tensors()) {
      if (info.name.starts_with(prefix)) out.emplace(info.name.substr(prefix.size()), file_.read(info.name).value());
    }
    return out;
  }

 private:
  SafetensorsFile file_;
};

}  // namespace tenon
