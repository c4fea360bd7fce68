// Errors: what was wrong, where, what was got and expected, and what to do.
//
// Building and tracing throw `Error`. The world (files, plugins, untrusted bytes) returns `Result<T>`, which becomes a
// throw at one named boundary: `Result::value()`.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace tenon {

// What kind of thing went wrong. Names are stable: they appear in messages and in docs/errors.md.
enum class ErrorCode : uint8_t {
  invalid_argument,    // a value that is outside what its field or parameter allows
  unknown_name,        // a field, type, experiment, op or platform that isn't there
  wrong_type,          // a value of another type than its field
  missing_field,       // a required config field that was never set
  shape_mismatch,      // shapes or dtypes that don't fit together
  wrong_context,       // encapsulation or trace rules broken: another module's state, a closed region, another thread
  not_differentiable,  // a gradient was asked for where there is none
  unsupported,         // what isn't done (yet), or what a backend lacks
  mesh_mismatch,       // mesh, devices and sharding that don't fit
  plugin,              // a PJRT plugin is missing, too old, or failed
  compile,             // the backend's compiler refused the program
  out_of_memory,       // a device has too little memory for a program or an array
  not_found,           // a file or directory that isn't there
  damaged,             // bytes on disk that aren't what they should be
  incompatible,        // a checkpoint of another architecture
  io,                  // the operating system refused
  no_space,            // the disk is full
  non_finite,          // training went non-finite past its limit
  stalled,             // a run stood still for longer than it may
  interrupted,         // stopped by a signal
  internal,            // our bug
};

// "shape_mismatch" and so on.
std::string_view to_string(ErrorCode code);
// The process exit status for an error of this kind; the table is in docs/errors.md.
int exit_status(ErrorCode code);

class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message);

  // Where: a module path, a config path, or `file:line`. Prefixing builds a path from the inside out.
  Error& at(std::string path) &;
  Error&& at(std::string path) &&;
  // Puts `outer` before the path: "decoder" + "layers.0" gives "decoder.layers.0".
  Error& prefix(std::string_view outer);
  Error&& got(std::string text) &&;
  Error&& expected(std::string text) &&;
  Error&& hint(std::string text) &&;

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& path() const { return path_; }
  const std::string& hint() const { return hint_; }
  // One line: "shape_mismatch at decoder.ffn: message (got …, expected …). Hint: …".
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  void render();
  ErrorCode code_;
  std::string message_, path_, got_, expected_, hint_, text_;
};

// Throws an `internal` error naming the place when `condition` is false: for our bugs only, never for input.
void check(bool condition, std::string_view what, const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace tenon
