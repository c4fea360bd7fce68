// The search for what makes an experiment fast on a machine, with that machine's own compiler.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/tune/analysis.h"
#include "tenon/tune/evaluation.h"
#include "tenon/tune/search_space.h"
#include "tenon/tune/tuned_experiment.h"

namespace tenon {

struct TuneOptions {
  std::string target;
  int64_t global_batch = 0;
  std::string dir;  // of journal.jsonl and rule.toml; created
  SearchSpace space;
  int64_t max_candidates = 32;  // compiled at most, those that a journal has among them
  // Of a CPU target: so many of the best are run for `measure_rounds` steps each in turn, and ranked by that. 0: none.
  int64_t measure = 0, measure_rounds = 5;
  AotOptions aot;  // chips and allow_replication
};

// Why a candidate isn't ranked.
enum class Drop : uint8_t {
  none,
  divides,    // the batch can't be cut so
  builds,     // the config, or tracing it, refuses
  same,       // its program is another's
  arguments,  // what is known before compiling doesn't fit
  slower,     // no step of it is as fast as the best
  refused,    // the compiler says no, or keeps arrays whole
  too_large,  // it is compiled, and doesn't fit
  larger,     // it needs more than another that doesn't fit
  not_tried,  // max_candidates were compiled
};
// For a list: "don't divide".
std::string_view to_string(Drop drop);

struct TuneRow {
  std::string label;
  std::optional<Candidate> candidate;  // none: the experiment with its own mesh rule, or without
  bool own = false;                    // that experiment, or the candidate with the same program that stands for it
  RuleModifiers modifiers;
  std::optional<Analysis> analysis;
  std::optional<Evaluation> evaluation;
  StepTime time;  // where it's compiled
  Drop drop = Drop::none;
  std::string why;  // it was dropped
  // What rows are ranked by: measured, else as if nothing overlapped.
  double seconds() const { return evaluation->measured_s.value_or(time.sum()); }
};

struct TuneReport {
  std::string experiment, target, instance;
  int64_t global_batch = 0, memory_limit = 0;
  MachineSpeeds speeds;
  std::vector<TuneRow> ranked, dropped;  // the best first; in the order of Drop
  std::string rule_file;                 // "" where nothing fits
  std::string train_command;             // that trains by it
  // Throws when nothing is ranked: `invalid_argument` when the batch divides by no mesh, `out_of_memory` when something
  // was only too large, `compile` otherwise.
  void require_winner() const;
};

// Analyzes every candidate, compiles them in the order of promise, writes down what came out, and the best as a mesh
// rule. What a journal in `dir` has isn't compiled again. `progress`, unless empty, gets lines for people. Throws
// `unsupported` for a target that nothing compiles for, or to measure what isn't a CPU; `incompatible` for a journal of
// something else, and where overrides or modifiers take back what a rule says; what enumerate, resolve and plugins
// throw.
TuneReport tune(const Experiment& experiment, const Overrides& overrides, const TuneOptions& options,
                const std::function<void(const std::string&)>& progress = {});

// Lines for people, without one at the end; and JSON (docs/tuning.md).
std::string format_tuning(const TuneReport& report);
std::string tuning_json(const TuneReport& report);

}  // namespace tenon
