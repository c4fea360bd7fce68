#include "tenon/tune/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fmt/std.h>

#include <algorithm>
#include <map>

#include "tenon/base/file.h"
#include "tenon/base/hash.h"
#include "tenon/base/lock_file.h"
#include "tenon/base/text.h"
#include "tenon/config/text.h"
#include "tenon/experiments/resolve.h"
#include "tenon/runtime/device_setup.h"
#include "tenon/tune/calibrate.h"
#include "tenon/tune/journal.h"
#include "tenon/tune/measure.h"
#include "tenon/tune/processor_time.h"

namespace tenon {
namespace {

// Whether an error is about one candidate, and others may do better.
bool is_of_candidate(const Error& e) {
  switch (e.code()) {
    case ErrorCode::plugin:
    case ErrorCode::io:
    case ErrorCode::no_space:
    case ErrorCode::not_found:
    case ErrorCode::damaged:
    case ErrorCode::incompatible:
    case ErrorCode::interrupted:
    case ErrorCode::internal:
      return false;
    default:
      return true;
  }
}

AotTarget target_of(const TuneOptions& options) {
  AotTarget target = AotTarget::parse(options.target, options.aot.chips);
  const bool here = target.name == "cpu";
  if (!here && aot_way(target.platform, options.aot.chips.find(target.name).setup) == AotWay::none) {
    throw Error(ErrorCode::unsupported, "no plugin compiles for this chip, so nothing can be compared")
        .at("--target")
        .got(quote_text(options.target))
        .hint("`tenon aot --analytic` gives a bound for one config");
  }
  if (options.measure > 0 && !here) {
    throw Error(ErrorCode::unsupported, "only virtual devices of this machine can be measured")
        .at("--measure")
        .got(quote_text(options.target))
        .expected("a target as cpu:8");
  }
  const auto require = [](bool holds, const char* option, int64_t got) {
    if (holds) return;
    throw Error(ErrorCode::invalid_argument, "not a number of candidates").at(option).got(std::to_string(got));
  };
  require(options.max_candidates >= 1, "--max_candidates", options.max_candidates);
  require(options.measure >= 0, "--measure", options.measure);
  return target;
}

AotOptions without_compiler(AotOptions options) {
  options.analytic = true;
  return options;
}

// What programs are compiled with, and how what they send is counted. Speeds and memory are looked up anew.
std::string machine_hash(const Chip& chip, bool allow_replication) {
  const DeviceSetup& s = chip.setup;
  return sha256_hex(fmt::format("{:?} {} {} {} {} {} {:?} {} {}", chip.platform, chip.host_devices, s.environment,
                                s.client_options, s.compile_options, static_cast<int>(aot_way(chip.platform, s)),
                                s.topology, s.topology_options, allow_replication));
}

class Search {
 public:
  Search(const Experiment& experiment, const Overrides& overrides, const TuneOptions& options,
         std::function<void(const std::string&)> progress)
      : options_(options),
        target_(target_of(options)),
        candidates_(enumerate(options.space, target_, options.global_batch)),
        experiment_(experiment, overrides, target_, options.global_batch, options.aot.chips),
        lock_(lock(options.dir)),
        compiler_(options.target, options.aot),
        analyst_(options.target, without_compiler(options.aot)),
        journal_(Journal::open(join_path(options.dir, "journal.jsonl"), subject())),
        progress_(std::move(progress)) {}

  TuneReport run() {
    if (journal_.size() > 0) say(fmt::format("going on from a journal of {} results", journal_.size()));
    speeds_ = find_speeds();
    make_rows();
    for (TuneRow& row : rows_) prepare(row);
    drop_doubles();
    say(fmt::format("{} candidates, {} of them worth compiling", rows_.size(),
                    std::count_if(rows_.begin(), rows_.end(), is_open)));
    compile_all();
    if (options_.measure > 0) measure();
    return finish();
  }

 private:
  static bool is_open(const TuneRow& row) { return row.drop == Drop::none; }
  static LockFile lock(const std::string& dir) {
    make_dirs(dir).value();
    return LockFile::acquire(join_path(dir, "LOCK")).value();
  }
  void say(const std::string& line) const {
    if (progress_) progress_(line);
  }
  static void drop(TuneRow& row, Drop how, std::string why) {
    row.drop = how;
    row.why = std::move(why);
  }

  JournalSubject subject() const {
    const Chip& chip = compiler_.chip();
    return {experiment_.name(),
            options_.target,
            options_.global_batch,
            sha256_hex(to_toml(experiment_.bare())),
            build_fingerprint(),
            load_plugin(target_.platform, chip.setup)->fingerprint().value(),
            machine_hash(chip, options_.aot.allow_replication)};
  }
  MachineSpeeds find_speeds() {
    if (target_.name != "cpu") return speeds_of(compiler_.chip(), target_.num_links());
    if (!journal_.speeds()) {
      say("measuring the speeds of this machine");
      journal_.add(calibrate_cpu(target_.num_devices));
    }
    return *journal_.speeds();
  }
  void make_rows() {
    TuneRow& own = rows_.emplace_back();
    own.own = true;
    own.label = fmt::format("the experiment's own ({})", experiment_.own_rule());
    for (const Candidate& candidate : candidates_) {
      TuneRow& row = rows_.emplace_back();
      row.label = to_string(candidate);
      row.candidate = candidate;
      row.modifiers = modifiers_of(candidate);
    }
  }
  Trainer::Config config_of(const TuneRow& row) const {
    return row.candidate ? experiment_.by_rule(row.modifiers) : experiment_.by_own_rule();
  }
  TracedStep trace(const Trainer::Config& config) const {
    return trace_train_step(config, compiler_.num_devices(), compiler_.kernels());
  }

  // Drops what can be known to be no good without a compiler.
  void prepare(TuneRow& row) const {
    if (row.candidate) {
      std::string why = why_not_divided(*row.candidate, options_.global_batch);
      if (!why.empty()) return drop(row, Drop::divides, std::move(why));
    }
    try {
      const Trainer::Config config = config_of(row);
      require_as_searched(row, config);
      const TracedStep traced = trace(config);
      const StepReport report = analyst_.report(begin_train_report(config, traced), traced.mesh, traced.step.program);
      row.analysis = analyze(report, config, target_, speeds_);
      if (row.analysis->least_bytes > report.chip.memory_bytes) {
        drop(row, Drop::arguments, fmt::format("needs at least {}", format_bytes(uint64(row.analysis->least_bytes))));
      }
    } catch (const Error& e) {
      if (!is_of_candidate(e)) throw;
      drop(row, Drop::builds, e.what());
    }
  }
  static uint64_t uint64(int64_t bytes) { return static_cast<uint64_t>(bytes); }

  static void require_as_searched(const TuneRow& row, const Trainer::Config& config) {
    if (!row.candidate) return;
    // What divides is the same when it is said again.
    Trainer::Config again = config;
    parse_modifier(fmt::format("Chain{{modifiers = {}}}", to_toml(divisions_of(*row.candidate))))(again);
    const std::vector<Difference> differences = diff(config, again);
    if (differences.empty()) return;
    throw Error(ErrorCode::incompatible, "--set, --modify or --also takes back what a mesh rule says")
        .at(row.label)
        .got(to_string(differences.front()))
        .hint("leave out what sets the mesh, accumulation or a pipeline");
  }

  void drop_doubles() {
    std::map<std::string, TuneRow*> first;
    for (TuneRow& row : rows_) {
      if (!is_open(row)) continue;
      const auto [at, is_new] = first.emplace(row.analysis->program, &row);
      if (is_new) continue;
      // A rule that says what the experiment does anyway is worth more than saying nothing.
      if (!at->second->candidate) {
        drop(*at->second, Drop::same, fmt::format("is {}", row.label));
        at->second = &row;
        row.own = true;
      } else {
        drop(row, Drop::same, fmt::format("is {}", at->second->label));
      }
    }
  }

  void compile_all() {
    std::vector<TuneRow*> order;
    for (TuneRow& row : rows_) {
      if (is_open(row)) order.push_back(&row);
    }
    // The experiment's own comes first: it is what others are compared with, and nothing drops it before it's compiled.
    std::stable_sort(order.begin(), order.end(), [](const TuneRow* a, const TuneRow* b) {
      if (a->own != b->own) return a->own;
      return a->analysis->guess_s < b->analysis->guess_s;
    });
    int64_t tried = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      TuneRow& row = *order[i];
      if (drop_by_time(row) || drop_by_memory(row)) continue;
      if (tried == options_.max_candidates) {
        drop(row, Drop::not_tried, fmt::format("{} candidates were compiled before it", tried));
        continue;
      }
      tried += row.candidate ? 1 : 0;
      evaluate(row);
      say(fmt::format("{}/{}  {}: {}", i + 1, order.size(), row.label, outcome(row)));
    }
  }
  std::string outcome(const TuneRow& row) const {
    if (!is_open(row)) return fmt::format("{}: {}", to_string(row.drop), row.why);
    return fmt::format("{:.4g} s, {}, compiled in {:.1f} s", row.time.sum(),
                       format_bytes(uint64(row.evaluation->bytes)), row.evaluation->compile_s);
  }

  bool drop_by_time(TuneRow& row) const {
    const TuneRow* best = nullptr;
    for (const TuneRow& other : rows_) {
      if (is_open(other) && other.evaluation && (best == nullptr || other.time.sum() < best->time.sum())) best = &other;
    }
    if (best == nullptr || row.analysis->at_least_s <= best->time.sum()) return false;
    drop(row, Drop::slower,
         fmt::format("takes {:.4g} s at least, {} takes {:.4g} s", row.analysis->at_least_s, best->label,
                     best->time.sum()));
    return true;
  }
  // Fewer microbatches need more memory: temporaries shrink at most as microbatches do.
  bool drop_by_memory(TuneRow& row) const {
    for (const TuneRow& other : rows_) {
      if (!other.evaluation || !row.candidate || !other.candidate || (is_open(other))) continue;
      Candidate alike = *other.candidate;
      alike.microbatches = row.candidate->microbatches;
      if (alike != *row.candidate || !is_too_large(*other.evaluation)) continue;
      const Evaluation& e = *other.evaluation;
      const double shrunk = static_cast<double>(e.temporary_bytes) *
                            static_cast<double>(other.candidate->microbatches) /
                            static_cast<double>(row.candidate->microbatches);
      const bool at_most = row.candidate->microbatches <= other.candidate->microbatches;
      const double least = static_cast<double>(e.argument_bytes) + shrunk;
      if (!at_most && (!e.compiled() || least <= static_cast<double>(compiler_.chip().memory_bytes))) continue;
      drop(row, Drop::larger, fmt::format("{} doesn't fit", other.label));
      return true;
    }
    return false;
  }
  bool is_too_large(const Evaluation& e) const {
    return e.compiled() ? e.bytes > compiler_.chip().memory_bytes : e.too_large;
  }

  void evaluate(TuneRow& row) {
    const std::string rule = to_toml(row.modifiers);
    if (const Evaluation* known = journal_.find(rule, row.analysis->program)) {
      row.evaluation = *known;
    } else {
      row.evaluation = compile(row);
      row.evaluation->rule = rule;
      row.evaluation->program = row.analysis->program;
      journal_.add(*row.evaluation);
    }
    const Evaluation& e = *row.evaluation;
    if (!e.compiled()) return drop(row, e.too_large ? Drop::too_large : Drop::refused, e.refusal);
    row.time = time_step(e.counts, speeds_);
    if (is_too_large(e)) drop(row, Drop::too_large, fmt::format("needs {}", format_bytes(uint64(e.bytes))));
  }
  Evaluation compile(const TuneRow& row) const {
    try {
      const Trainer::Config config = config_of(row);
      const TracedStep traced = trace(config);
      return evaluation_of(compiler_.report(begin_train_report(config, traced), traced.mesh, traced.step.program));
    } catch (const Error& e) {
      if (!is_of_candidate(e)) throw;
      Evaluation out;
      out.refusal = e.what();
      return out;
    }
  }

  std::vector<TuneRow*> best_first() {
    std::vector<TuneRow*> out;
    for (TuneRow& row : rows_) {
      if (is_open(row)) out.push_back(&row);
    }
    std::stable_sort(out.begin(), out.end(), [](const TuneRow* a, const TuneRow* b) {
      const bool measured_a = a->evaluation->measured_s.has_value(), measured_b = b->evaluation->measured_s.has_value();
      return measured_a != measured_b ? measured_a : a->seconds() < b->seconds();
    });
    return out;
  }
  void measure() {
    // What another run measured was on another day.
    for (TuneRow& row : rows_) {
      if (row.evaluation) row.evaluation->measured_s.reset();
    }
    std::vector<TuneRow*> best;
    std::vector<Trainer::Config> configs;
    for (TuneRow* row : best_first()) {
      // The experiment's own is measured in any case.
      if (!row->own && static_cast<int64_t>(best.size()) >= options_.measure) continue;
      best.push_back(row);
      configs.push_back(config_of(*row));
    }
    if (best.empty()) return;
    const auto times = measure_steps(configs, Backend::open(options_.target), options_.measure_rounds, progress_);
    const double processors = processors_for(target_.num_devices);
    for (size_t i = 0; i < best.size(); ++i) {
      best[i]->evaluation->measured_s = StepTimes::median(times[i].processor) / processors;
      journal_.add(*best[i]->evaluation);
    }
  }

  TuneReport finish() {
    TuneReport report;
    report.experiment = experiment_.name();
    report.target = options_.target;
    report.instance = experiment_.instance();
    report.global_batch = options_.global_batch;
    report.memory_limit = compiler_.chip().memory_bytes;
    report.speeds = speeds_;
    for (const TuneRow* row : best_first()) report.ranked.push_back(*row);
    for (const TuneRow& row : rows_) {
      if (!is_open(row)) report.dropped.push_back(row);
    }
    std::stable_sort(report.dropped.begin(), report.dropped.end(),
                     [](const TuneRow& a, const TuneRow& b) { return a.drop < b.drop; });
    if (report.ranked.empty()) return report;
    report.rule_file = write_rule(report);
    report.train_command = experiment_.train_command(report.rule_file);
    return report;
  }
  std::string write_rule(const TuneReport& report) const {
    const TuneRow& best = report.ranked.front();
    const std::string path = join_path(options_.dir, "rule.toml");
    const std::string comment = fmt::format(
        "The best of {} candidates for {}: {}.\n{:.4g} s a step by {}, {} on each device.", candidates_.size(),
        options_.target, best.label, best.seconds(), best.evaluation->measured_s ? "measurement" : "the cost model",
        format_bytes(uint64(best.evaluation->bytes)));
    write_file_atomic(path, experiment_.rule_file(best.modifiers, comment)).value();
    const std::vector<Difference> differences = diff(config_of(best), experiment_.by_file(path));
    if (differences.empty()) return path;
    throw Error(ErrorCode::internal, "the rule that was written isn't the one that was tried")
        .at(path)
        .got(to_string(differences.front()));
  }

  const TuneOptions& options_;
  AotTarget target_;
  std::vector<Candidate> candidates_;
  TunedExperiment experiment_;
  LockFile lock_;
  ProgramReporter compiler_, analyst_;
  Journal journal_;
  std::function<void(const std::string&)> progress_;
  MachineSpeeds speeds_;
  std::vector<TuneRow> rows_;
};

}  // namespace

TuneReport tune(const Experiment& experiment, const Overrides& overrides, const TuneOptions& options,
                const std::function<void(const std::string&)>& progress) {
  return Search(experiment, overrides, options, progress).run();
}

}  // namespace tenon
