#include "tenon/conformance/check_service.h"

#include <fmt/format.h>

#include <memory>

#include "tenon/base/json.h"
#include "tenon/base/text.h"
#include "tenon/conformance/op_check.h"
#include "tenon/conformance/plugin_checks.h"

namespace tenon {
namespace {

std::string text_of(const pjrt::OptionValue& value) {
  struct Printer {
    std::string operator()(const std::string& x) const { return x; }
    std::string operator()(int64_t x) const { return std::to_string(x); }
    std::string operator()(float x) const { return format_float(x); }
    std::string operator()(bool x) const { return x ? "true" : "false"; }
    std::string operator()(const std::vector<int64_t>& x) const {
      std::vector<std::string> pieces;
      for (const int64_t number : x) pieces.push_back(std::to_string(number));
      return join(pieces, ".");
    }
  };
  return std::visit(Printer(), value);
}

Json::Object describe_plugin(const pjrt::Plugin& plugin) {
  const pjrt::ApiVersion version = plugin.api_version();
  Json::Object facts{{"API", fmt::format("{}.{}", version.major, version.minor)}};
  if (const Result<pjrt::Options> attributes = plugin.attributes()) {
    for (const auto& [name, value] : *attributes) facts.push_back({name, text_of(value)});
  }
  return {{"facts", std::move(facts)}};
}

class Service {
 public:
  explicit Service(CheckSubject subject) : subject_(std::move(subject)) {}

  Json::Object handle(const std::vector<std::string>& words) {
    const std::string& what = words.at(0);
    if (what == "load") return describe_plugin(*subject_.load());
    if (what == "devices") return open(CheckMachine::open_devices(subject_));
    if (what == "describe") return open(CheckMachine::open_described(subject_));
    if (what == "check") {
      const CheckOutcome outcome = plugin_checks()[number(words.at(1))].run(*machine_);
      return {{"status", static_cast<int64_t>(outcome.status)}, {"words", outcome.words}};
    }
    return check_ops(words);
  }

 private:
  static size_t number(const std::string& word) { return static_cast<size_t>(parse_int(word).value()); }

  Json::Object open(CheckMachine machine) {
    machine_.emplace(std::move(machine));
    Json::Object out{{"machine", fmt::format("{} x {}", machine_->num_devices(), machine_->device_kind())},
                     {"devices", machine_->num_devices()},
                     {"single", machine_->has_single()}};
    if (!machine_->runs()) return out;
    const pjrt::Client& client = machine_->backend()->client();
    out.push_back(
        {"facts", Json::Object{{"platform", client.platform_name()}, {"version", client.platform_version()}}});
    return out;
  }

  Json::Object check_ops(const std::vector<std::string>& words) {
    std::vector<const OpCase*> cases;
    for (size_t i = 1; i < words.size(); ++i) cases.push_back(&op_cases().at(number(words[i])));
    Json::Object wrong;
    for (auto& [place, text] : check_cases(*machine_, cases)) wrong.push_back({std::to_string(place), text});
    return {{"wrong", std::move(wrong)}};
  }

  CheckSubject subject_;
  std::optional<CheckMachine> machine_;
};

// The message without its code, and without its path, which goes apart.
Json::Object describe_error(const Error& e) {
  const std::string head = fmt::format("{}{}: ", to_string(e.code()), e.path().empty() ? "" : " at " + e.path());
  std::string text = e.what();
  if (text.starts_with(head)) text = text.substr(head.size());
  return {{"error", text}, {"path", e.path()}};
}

}  // namespace

ChildServer::Handler serve_checks(const CheckSubject& subject) {
  const auto service = std::make_shared<Service>(subject);
  return [service](const std::string& request) {
    Json::Object answer;
    try {
      answer = service->handle(split(request, ' '));
    } catch (const Error& e) {
      answer = describe_error(e);
    } catch (const std::exception& e) {
      answer = describe_error(Error(ErrorCode::internal, e.what()));
    }
    return Json(std::move(answer)).text({.replace_bad_utf8 = true});
  };
}

}  // namespace tenon
