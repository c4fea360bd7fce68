#include "tenon/text/sentinel_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tenon/config/build_part.h"
#include "tenon/config/define.h"
#include "tenon/config/text.h"
#include "tenon/text/bytes_tokenizer.h"

namespace tenon {

TENON_MODULE(SentinelTokenizer, Tokenizer, "another tokenizer's tokens, and sentinels: <extra_id_0>, <extra_id_1>, …",
             {"text", "what the other tokens are"}, {"num_sentinels", "behind the other tokens"})

namespace {

constexpr std::string_view kBegin = "<extra_id_";

std::string name_of(int64_t sentinel) { return fmt::format("{}{}>", kBegin, sentinel); }

// The digits of the sentinel that stands at `at`; none: something else does.
std::string_view digits_at(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at + kBegin.size());
  const size_t count = std::min(rest.find_first_not_of("0123456789"), rest.size());
  return count < rest.size() && rest[count] == '>' ? rest.substr(0, count) : std::string_view();
}

}  // namespace

SentinelTokenizer::Config::Config() : text(BytesTokenizer::Config{}) {}

void SentinelTokenizer::Config::check(Checker& c) const {
  c.positive("num_sentinels", num_sentinels);
  c.at_most("num_sentinels", num_sentinels, INT32_MAX);
}

SentinelTokenizer::SentinelTokenizer(const Config& config)
    : SentinelTokenizer(build_part("text", config.text), config.num_sentinels) {}
SentinelTokenizer::SentinelTokenizer(std::shared_ptr<const Tokenizer> text, int64_t num_sentinels)
    : text_(std::move(text)), num_sentinels_(num_sentinels) {}

int32_t SentinelTokenizer::sentinel(std::string_view digits) const {
  int64_t number = num_sentinels_;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (number < num_sentinels_ && std::to_string(number) == digits) {
    return static_cast<int32_t>(text_->vocab_size() + number);
  }
  throw Error(ErrorCode::invalid_argument, "there is no such sentinel")
      .got(fmt::format("{}{}>", kBegin, digits))
      .expected(fmt::format("{} to {}", name_of(0), name_of(num_sentinels_ - 1)));
}

void SentinelTokenizer::encode(std::string_view text, std::vector<int32_t>& tokens) const {
  const auto add_text = [&](std::string_view part) {
    if (!part.empty()) text_->encode(part, tokens);
  };
  size_t begin = 0;
  for (size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at + 1)) {
    const std::string_view digits = digits_at(text, at);
    if (digits.empty()) continue;
    add_text(text.substr(begin, at - begin));
    tokens.push_back(sentinel(digits));
    begin = at + kBegin.size() + digits.size() + 1;
  }
  add_text(text.substr(begin));
}

std::string SentinelTokenizer::token_bytes(int32_t token, bool first) const {
  return is_sentinel(token) ? name_of(token - text_->vocab_size()) : text_->token_bytes(token, first);
}

Tokenizer::Saved SentinelTokenizer::save() const {
  Saved text = text_->save();
  Config config;
  config.text = from_toml_as<Tokenizer>(text.config_toml);
  config.num_sentinels = num_sentinels_;
  return {to_toml(config), std::move(text.files)};
}

const Tokenizer& text_tokenizer(const Tokenizer& tokenizer) {
  const auto* sentinels = dynamic_cast<const SentinelTokenizer*>(&tokenizer);
  return sentinels != nullptr ? sentinels->text() : tokenizer;
}

}  // namespace tenon
