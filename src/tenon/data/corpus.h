// Files of text as documents in memory.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tenon/base/mapped_file.h"
#include "tenon/data/document.h"

namespace tenon {

class Corpus {
 public:
  // The documents of the files that `path` names (list_inputs), in their order; what is empty is left out. A .txt is
  // mapped, the texts of lines of JSON are kept. All files are read through. Throws what list_inputs, TextReader and
  // clean_text do, naming the file, and `invalid_argument` when no document has any text.
  explicit Corpus(const std::string& path);

  int64_t num_documents() const { return static_cast<int64_t>(documents_.size()); }
  int64_t num_bytes() const { return num_bytes_; }
  const std::vector<std::string>& empty_files() const { return empty_files_; }
  // The documents in the bytes [begin, end) of all of them behind one another.
  std::vector<Document> range(int64_t begin, int64_t end) const;

 private:
  void add_file(const std::string& path);
  void add_lines(const std::string& path);
  void add(std::string_view text);
  std::vector<MappedFile> files_;
  std::deque<std::string> texts_;
  std::vector<std::string_view> documents_;  // in files_ and texts_
  std::vector<std::string> empty_files_;
  int64_t num_bytes_ = 0;
};

}  // namespace tenon
