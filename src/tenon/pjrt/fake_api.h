// For tests: a PJRT plugin without hardware or compiler. It has two devices; every program returns its arguments. It
// counts what is alive and can be told to fail.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tenon/pjrt/c_api.h"

namespace tenon::pjrt {

// One fake at a time: the table's functions work on the last one made.
class FakeApi {
 public:
  FakeApi();
  ~FakeApi();
  FakeApi(const FakeApi&) = delete;
  FakeApi& operator=(const FakeApi&) = delete;

  const PJRT_Api* api() const { return &api_; }
  PJRT_Api& table() { return api_; }

  // The call with this number (from 1, of the calls that may fail) fails with `code`; 0: none.
  void fail_call(int number, PJRT_Error_Code code = PJRT_Error_Code_INTERNAL) {
    fail_at_ = number;
    fail_code_ = code;
    calls_ = 0;
  }
  // Calls that may fail, since fail_call.
  int calls() const { return calls_; }
  // The most that was in use on a device is this and its id; none: it doesn't say.
  void set_peak(std::optional<int64_t> bytes) { peak_ = bytes; }
  // Events of work started from now on happen with an error.
  void fail_work(bool fail) { fail_work_ = fail; }

  // Objects alive, by kind: "error", "event", "buffer", "loaded", "executable", "client", "topology".
  const std::map<std::string, int>& alive() const { return alive_; }
  int total_alive() const;
  // What was wrong in how it was used: something destroyed twice, or after its client.
  const std::string& misuse() const { return misuse_; }
  // As given to the last client or topology, and to the last compilation.
  const std::map<std::string, std::string>& last_options() const { return last_options_; }
  const std::string& last_compile_options() const { return last_compile_options_; }
  const std::string& last_program() const { return last_program_; }

 private:
  friend struct FakeCalls;
  PJRT_Api api_{};
  int fail_at_ = 0, calls_ = 0;
  PJRT_Error_Code fail_code_ = PJRT_Error_Code_INTERNAL;
  bool fail_work_ = false;
  std::optional<int64_t> peak_ = 250;
  std::map<std::string, int> alive_;
  std::string misuse_, last_compile_options_, last_program_;
  std::map<std::string, std::string> last_options_;
};

}  // namespace tenon::pjrt
