// Goldens: everything an experiment comes to, as text in version control, so that a change shows all it touches.
#pragma once

#include <string>
#include <vector>

#include "tenon/config/text.h"
#include "tenon/experiments/resolve.h"

namespace tenon {

// Something that has a golden: NAME.golden in the goldens' folder.
struct GoldenSubject {
  std::string name;
  const Experiment* experiment = nullptr;
  Overrides overrides = {};
};
// An experiment by name, or a TOML file that is based on one, whose golden has the file's name without ".toml".
// Throws `invalid_argument` when that is the name of an experiment.
GoldenSubject golden_subject(const ExperimentRegistry& registry, const std::string& name);

// Lines, sorted within four parts:
//   config.…       every field of the resolved config
//   learner.…      its run-time numbers at the first, the middle and the last step, and the arrays it keeps
//   mesh_rules.…   what would change with the machine, a line for each modifier
//   parameters.…   shape, partition, initializer and decay scale of every array of the model
// Builds the model and the learner, which throw what doesn't fit.
std::vector<TextLine> golden_lines(const GoldenSubject& subject);

struct GoldenChange {
  std::string name;
  bool is_new = false;
  std::vector<Difference> differences;  // from the file to what is now
};
struct GoldenReport {
  int64_t checked = 0;
  std::vector<GoldenChange> changed;
};

// Compares with the files in `dir`. Throws `not_found` when there is no such folder,
// `invalid_argument` for two subjects of one name, what reading files throws, and `damaged` for a file that isn't such
// lines.
GoldenReport check_goldens(const std::string& dir, const std::vector<GoldenSubject>& subjects);
// The same, and writes the files that changed.
GoldenReport update_goldens(const std::string& dir, const std::vector<GoldenSubject>& subjects);

// For people: "3 of 40 goldens differ\n37 experiments change hidden_dim\n…", each field with an example, most first.
std::string to_string(const GoldenReport& report);

}  // namespace tenon
