// What a search has found out so far, on disk, so that it can go on after it was stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/tune/evaluation.h"

namespace tenon {

// What a journal is of. Results hold for nothing else.
struct JournalSubject {
  std::string experiment, target;
  int64_t global_batch = 0;
  std::string config;  // sha256 of the config without a mesh rule
  std::string build;   // sha256 of the code that traces and counts
  std::string plugin;  // sha256 of the compiler
  // sha256 of what results depend on of the chip's description, and of whether arrays may be kept whole.
  std::string machine;
};

// A file of JSON lines: the subject, then what was found, each line on disk before the next thing begins. Of a process
// that is killed at most the line in work is lost.
class Journal {
 public:
  // Creates the file, or goes on with it. Throws `incompatible` for a journal of another subject, naming what differs;
  // `damaged` for a line that isn't a journal's, with its number; `io` and what else writing gives. An unfinished last
  // line is cut off.
  static Journal open(const std::string& path, const JournalSubject& subject);

  // The last that was found of the candidate with this rule, as it compiles to this program; null: nothing.
  const Evaluation* find(const std::string& rule, const std::string& program) const;
  const std::optional<MachineSpeeds>& speeds() const { return speeds_; }
  size_t size() const { return evaluations_.size(); }

  void add(const Evaluation& evaluation);
  void add(const MachineSpeeds& speeds);

 private:
  explicit Journal(std::string path) : path_(std::move(path)) {}
  void read(const std::string& text, const JournalSubject& subject);
  void read_line(const Json& line);
  void write(const Json& line) const;
  std::string path_;
  std::vector<Evaluation> evaluations_;
  std::optional<MachineSpeeds> speeds_;
};

// sha256 of the library or program that this code is in.
std::string build_fingerprint();

}  // namespace tenon
