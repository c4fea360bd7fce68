#include "tenon/conformance/backend_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "tenon/base/json.h"
#include "tenon/base/regex.h"
#include "tenon/base/text.h"
#include "tenon/conformance/check_service.h"
#include "tenon/conformance/plugin_checks.h"
#include "tenon/ir/cases/op_cases.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

constexpr size_t kBatch = 64;  // cases in a program: compiling is most of the work

// What a request came to, with the answer of the process where it gave one.
struct Reply {
  CheckStatus status = CheckStatus::works;
  std::string words;
  Json answer;
  Error error() const {
    Error e(ErrorCode::plugin, words);
    const Json* path = answer.find("path");
    if (path != nullptr && path->as<std::string>() != nullptr) e.at(*path->as<std::string>());
    return e;
  }
};

Reply read_reply(const ChildServer::Answer& answer) {
  if (!answer.text) return {answer.hung ? CheckStatus::hung : CheckStatus::crashed, answer.end, {}};
  Reply reply{CheckStatus::works, "", Json::parse(*answer.text).value()};
  const Json* error = reply.answer.find("error");
  if (error == nullptr) return reply;
  return {CheckStatus::refused, *error->as<std::string>(), std::move(reply.answer)};
}

// In the dtypes that training uses; others may be missing.
bool is_needed(const OpCase& c) {
  constexpr DType kNeeded[] = {DType::f32, DType::bf16, DType::i32, DType::u32, DType::i1};
  const auto is_used = [&](const TensorType& type) {
    return std::find(std::begin(kNeeded), std::end(kNeeded), type.dtype) != std::end(kNeeded);
  };
  const Graph graph = graph_of(c);
  const std::vector<TensorType> params = graph.param_types(), results = graph.result_types();
  return std::all_of(params.begin(), params.end(), is_used) && std::all_of(results.begin(), results.end(), is_used);
}

bool is_manual(std::string_view op) {
  const std::span<const OpDef* const> collectives = collective_defs();
  return op == "manual" ||
         std::any_of(collectives.begin(), collectives.end(), [&](const OpDef* d) { return d->name == op; });
}

class Checker {
 public:
  Checker(const BackendCheckOptions& options, const std::function<void(const std::string&)>& progress)
      : options_(options),
        progress_(progress),
        server_([subject = options.subject] { return serve_checks(subject); }, options.timeout_s) {}

  BackendReport run() {
    load();
    open();
    if (mode_.empty()) return std::move(report_);
    for (size_t i = 0; i < plugin_checks().size(); ++i) check_plugin(i);
    check_ops();
    return std::move(report_);
  }

 private:
  void tell(const std::string& line) const {
    if (progress_) progress_(line);
  }

  void add_facts(const Json& answer) {
    const Json* facts = answer.find("facts");
    if (facts == nullptr) return;
    for (const Json::Member& fact : *facts->as<Json::Object>()) {
      report_.facts.emplace_back(fact.key, *fact.value.as<std::string>());
    }
  }

  void load() {
    report_.plugin = options_.subject.plugin;
    if (report_.plugin.empty() && options_.subject.device) report_.plugin = options_.subject.device->setup.plugin;
    const Reply reply = read_reply(server_.ask("load"));
    if (reply.status == CheckStatus::works) return add_facts(reply.answer);
    if (reply.status == CheckStatus::refused) throw reply.error();
    throw Error(ErrorCode::plugin, "the process that loads the plugin " + reply.words).at(report_.plugin);
  }

  void open() {
    if (options_.subject.target.empty() && open_as("devices", report_.no_devices)) {
      report_.runs = true;
      return;
    }
    std::string not_described;
    if (open_as("describe", not_described)) return;
    report_.no_devices += (report_.no_devices.empty() ? "" : "; ") + not_described;
  }

  // Whether there is a machine now; why not otherwise.
  bool open_as(const std::string& mode, std::string& why) {
    const Reply reply = read_reply(server_.ask(mode));
    if (reply.status != CheckStatus::works) {
      why = reply.words;
      return false;
    }
    mode_ = mode;
    is_open_ = true;
    report_.machine = reply.answer.string("machine");
    num_devices_ = *reply.answer.find("devices")->integer();
    has_single_ = *reply.answer.find("single")->as<bool>();
    add_facts(reply.answer);
    return true;
  }

  // A new process first makes the machine again.
  Reply ask(const std::string& request) {
    if (!is_open_) {
      const Reply opened = read_reply(server_.ask(mode_));
      is_open_ = opened.status == CheckStatus::works;
      if (!is_open_) return {CheckStatus::lost, "the devices don't come back: " + opened.words, {}};
    }
    Reply reply = read_reply(server_.ask(request));
    is_open_ = server_.is_running();
    return reply;
  }

  void check_plugin(size_t number) {
    const PluginCheck& check = plugin_checks()[number];
    tell(fmt::format("checking {}", check.name));
    Reply reply = ask(fmt::format("check {}", number));
    if (const Json* words = reply.answer.find("words")) {
      reply.words = *words->as<std::string>();
      reply.status = static_cast<CheckStatus>(*reply.answer.find("status")->integer());
    }
    if (!is_good(reply.status) && !check.is_needed()) reply.words += fmt::format(" (without it {})", check.without);
    report_.checks.push_back({std::string(check.name), "", reply.status, reply.words, check.is_needed()});
  }

  // Those for one device and those for several apart: they can't share a program.
  void check_ops() {
    const Regex wanted = Regex::compile(options_.ops).value();
    std::map<int64_t, std::vector<size_t>> by_devices;
    for (size_t i = 0; i < op_cases().size(); ++i) {
      const OpCase& c = op_cases()[i];
      report_.ops.push_back({c.op, c.label, CheckStatus::not_tried, why_not(c), is_needed(c)});
      if (wanted.matches(c.op) && report_.ops[i].words.empty()) by_devices[c.mesh.num_devices()].push_back(i);
    }
    size_t done = 0, all = 0;
    for (const auto& [devices, cases] : by_devices) all += cases.size();
    for (const auto& [devices, cases] : by_devices) {
      for (size_t begin = 0; begin < cases.size(); begin += kBatch) {
        const size_t end = std::min(cases.size(), begin + kBatch);
        check_cases({cases.begin() + static_cast<int64_t>(begin), cases.begin() + static_cast<int64_t>(end)});
        done += end - begin;
        tell(fmt::format("checking ops: {} of {} cases", done, all));
      }
    }
    std::erase_if(report_.ops, [&](const CheckResult& op) { return !wanted.matches(op.name); });
  }

  // Why a case can't be tried on this machine; "" when it can. Manual regions must be on as many devices as they say.
  std::string why_not(const OpCase& c) const {
    const int64_t devices = c.mesh.num_devices();
    const bool fits = devices == 1 ? has_single_ || !is_manual(c.op)
                                   : (report_.runs ? num_devices_ >= devices : num_devices_ == devices);
    return fits ? "" : fmt::format("it takes {} devices, and there are {}", devices, num_devices_);
  }

  // One program; where it fails each half of it, down to the culprits.
  void check_cases(const std::vector<size_t>& cases) {
    std::string request = "ops";
    for (const size_t i : cases) request += fmt::format(" {}", i);
    const Reply reply = ask(request);
    const bool together = reply.answer.find("wrong") != nullptr;
    if (!together && cases.size() > 1 && reply.status != CheckStatus::lost) {
      const auto middle = cases.begin() + static_cast<int64_t>(cases.size() / 2);
      check_cases({cases.begin(), middle});
      check_cases({middle, cases.end()});
      return;
    }
    const bool compiled_only = reply.status == CheckStatus::works && !report_.runs;
    for (const size_t i : cases) {
      report_.ops[i].status = compiled_only ? CheckStatus::compiles : reply.status;
      report_.ops[i].words = reply.words;
    }
    if (!together) return;
    for (const Json::Member& wrong : *reply.answer.find("wrong")->as<Json::Object>()) {
      CheckResult& op = report_.ops[cases.at(static_cast<size_t>(parse_int(wrong.key).value()))];
      op.status = CheckStatus::differs;
      op.words = *wrong.value.as<std::string>();
    }
  }

  const BackendCheckOptions& options_;
  const std::function<void(const std::string&)>& progress_;
  ChildServer server_;
  BackendReport report_;
  std::string mode_;      // what makes the machine; "" when there is none
  bool is_open_ = false;  // whether the process has the machine
  int64_t num_devices_ = 0;
  bool has_single_ = true;
};

}  // namespace

bool BackendReport::works() const {
  const auto fails = [](const CheckResult& r) { return r.is_needed && !is_good(r.status); };
  return !machine.empty() && std::none_of(checks.begin(), checks.end(), fails) &&
         std::none_of(ops.begin(), ops.end(), fails);
}

BackendReport check_backend(const BackendCheckOptions& options,
                            const std::function<void(const std::string&)>& progress) {
  if (!(options.timeout_s > 0)) throw Error(ErrorCode::invalid_argument, "must be above 0").at("--timeout_s");
  const Result<Regex> regex = Regex::compile(options.ops);
  if (!regex) throw Error(regex.error()).at("--ops");
  if (std::none_of(op_cases().begin(), op_cases().end(), [&](const OpCase& c) { return (*regex).matches(c.op); })) {
    throw Error(ErrorCode::invalid_argument, "no op is called so").at("--ops").got(quote_text(options.ops));
  }
  return Checker(options, progress).run();
}

}  // namespace tenon
