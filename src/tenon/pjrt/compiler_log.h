// What a compiler says besides its answer: the lines that a plugin logs to standard error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::pjrt {

// A logged line about an op of the program, or about the program.
struct CompilerWarning {
  // replicates: every device gets the whole of an array that is split before and after. cannot_fit: the compiler found
  // no way to keep the program within the memory it was given.
  enum class Kind : uint8_t { other, replicates, cannot_fit };
  std::string op;  // its location in the program's text, "decoder.layers.0::1.attention/add"; "": the whole program
  std::string text;
  Kind kind = Kind::other;
  bool operator==(const CompilerWarning&) const = default;
};

// Sorts what was logged: lines about an op of the program become warnings, once each. `rest` gets the other lines that
// people should see: errors, what isn't a log line, and with `everything` warnings and notes too.
std::vector<CompilerWarning> sort_log(std::string_view log, bool everything, std::string& rest);

// The ops that a compiler's words are about: those it names by location or metadata; else those at the places in
// `program` (its text) that it names by line or by the target of a call. In the order named, once each.
std::vector<std::string> ops_named(std::string_view words, std::string_view program);

// Keeps what this process writes to standard error while it lives. When a signal that means a fault kills the process
// meanwhile, that is written first. One at a time: others live without effect, and what they would keep goes to the
// one that lives.
class LogCapture {
 public:
  LogCapture();
  // Lets what `finish` didn't take out again.
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // Ends it and gives the warnings; writes the rest to standard error. Where the user has set TF_CPP_MIN_LOG_LEVEL, the
  // rest is all.
  std::vector<CompilerWarning> finish();

 private:
  std::string end();
  bool active_ = false;
};

}  // namespace tenon::pjrt
