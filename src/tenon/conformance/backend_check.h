// What of a PJRT plugin works: `tenon backend check`.
//
// Everything that touches the plugin happens in a process of its own (child_server.h), a new one after each that the
// plugin took down; the case that did it is found by halving the programs that held it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/conformance/check_machine.h"
#include "tenon/conformance/check_status.h"

namespace tenon {

struct CheckResult {
  std::string name;   // of a check, or of an op
  std::string label;  // of an op's case: "f32[2,3]"
  CheckStatus status = CheckStatus::not_tried;
  std::string words;      // the plugin's, or what there is to say
  bool is_needed = true;  // to train
};

struct BackendReport {
  std::string plugin;                                      // its file
  std::vector<std::pair<std::string, std::string>> facts;  // what it says of itself
  // What programs were compiled for: "4 x cpu"; "" when there was nothing.
  std::string machine;
  bool runs = false;
  std::string no_devices;  // why it doesn't run: the plugin's words
  std::vector<CheckResult> checks, ops;

  // Whether there was something to compile for, and all that is needed is good.
  bool works() const;
};

struct BackendCheckOptions {
  CheckSubject subject;
  std::string ops = ".*";  // a regular expression for the whole of an op's name
  double timeout_s = 120;  // for a program, or a client
};

// Throws `plugin` when the plugin can't be loaded; `invalid_argument` for a regular expression that is none or matches
// no op, and for a time that isn't above 0. `progress` gets lines for people.
BackendReport check_backend(const BackendCheckOptions& options,
                            const std::function<void(const std::string&)>& progress = {});

// A table for people; and JSON, documented in docs/backends.md.
std::string format_backend(const BackendReport& report);
std::string backend_json(const BackendReport& report);

}  // namespace tenon
