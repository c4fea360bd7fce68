// Text files as documents, mapped into memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/base/mapped_file.h"
#include "tenon/base/result.h"
#include "tenon/data/document.h"

namespace tenon {

class Corpus {
 public:
  // `path` is a text file, or a folder whose *.txt files are the documents, in the order of their names. Errors name
  // the file: missing, no text in the folder, empty, or `damaged`, with the byte, for a file that isn't UTF-8 or has a
  // zero byte in it. All files are read through for that.
  static Result<Corpus> open(const std::string& path);

  int64_t num_documents() const { return static_cast<int64_t>(files_.size()); }
  int64_t num_bytes() const { return num_bytes_; }
  // The documents in the bytes [begin, end) of all files behind one another.
  std::vector<Document> range(int64_t begin, int64_t end) const;

 private:
  std::vector<MappedFile> files_;
  int64_t num_bytes_ = 0;
};

}  // namespace tenon
