#include "tenon/inference/generate_options.h"

#include <fmt/format.h>

#include "tenon/base/error.h"
#include "tenon/base/text.h"
#include "tenon/base/utf8.h"

namespace tenon {
namespace {

// Keeps kNeverSampled / temperature below any logit.
constexpr double kMaxTemperature = 1e6;
constexpr int64_t kMaxBeams = 64;

Error refusal(const char* option, std::string what, std::string got) {
  return Error(ErrorCode::invalid_argument, std::move(what)).at(option).got(std::move(got));
}

void check_range(const char* option, double value, double min, double max) {
  if (value >= min && value <= max) return;
  throw refusal(option, "out of range", format_float(value))
      .expected(fmt::format("{} to {}", format_float(min), format_float(max)));
}

}  // namespace

void SamplingOptions::check() const {
  check_range("temperature", temperature, 0, kMaxTemperature);
  if (top_k < 0) throw refusal("top_k", "must be at least 0", std::to_string(top_k)).hint("0 means all tokens");
  check_range("top_p", top_p, 0, 1);
  if (top_p == 0) throw refusal("top_p", "must be above 0", "0").hint("temperature 0 takes the most likely token");
  check_range("min_p", min_p, 0, 1);
  check_range("repetition_penalty", repetition_penalty, 0.01, 100);
}

Literal SamplingOptions::packed() const {
  // A vocabulary has fewer tokens than f32 has integers.
  const double k = static_cast<double>(std::min<int64_t>(top_k, 1 << 24));
  const std::vector<double> numbers{temperature, k, top_p, min_p, repetition_penalty};
  return Literal::from(DType::f32, {static_cast<int64_t>(numbers.size())}, numbers);
}

namespace {

// Beam search looks for the most likely text: options that change what is drawn don't go with it.
void check_beams(const GenerateOptions& options) {
  if (options.num_beams < 1 || options.num_beams > kMaxBeams) {
    throw refusal("num_beams", "out of range", std::to_string(options.num_beams))
        .expected(fmt::format("1 to {}", kMaxBeams));
  }
  check_range("length_penalty", options.length_penalty, 0, 10);
  const SamplingOptions& s = options.sampling;
  const SamplingOptions none;
  const auto refuse = [&](bool set, const char* option) {
    if (!set) return;
    throw Error(ErrorCode::unsupported, "beam search draws nothing").at(option).hint("leave it out, or num_beams");
  };
  if (options.num_beams == 1) {
    if (options.length_penalty == 1) return;
    throw Error(ErrorCode::invalid_argument, "only beam search has a length penalty")
        .at("length_penalty")
        .hint("set num_beams above 1");
  }
  refuse(s.temperature != none.temperature, "temperature");
  refuse(s.top_k != none.top_k, "top_k");
  refuse(s.top_p != none.top_p, "top_p");
  refuse(s.min_p != none.min_p, "min_p");
  refuse(s.repetition_penalty != none.repetition_penalty, "repetition_penalty");
}

}  // namespace

void GenerateOptions::check() const {
  sampling.check();
  for (const std::string& text : stop) {
    if (text.empty()) throw refusal("stop", "an empty text ends everything", "\"\"");
    if (!is_utf8(text)) throw Error(ErrorCode::invalid_argument, "not valid UTF-8").at("stop");
  }
  check_beams(*this);
}

void GenerateOptions::check(int64_t vocab_size) const {
  check();
  for (const int64_t token : stop_tokens) {
    if (token >= 0 && token < vocab_size) continue;
    throw refusal("stop_tokens", "no token has this number", std::to_string(token))
        .expected(fmt::format("0 to {}", vocab_size - 1));
  }
}

}  // namespace tenon
