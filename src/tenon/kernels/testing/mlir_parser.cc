#include "tenon/kernels/testing/mlir_parser.h"

#include <fmt/format.h>

#include <cctype>

#include "tenon/base/error.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

// Pieces of a list; commas inside brackets don't part them.
std::vector<std::string> pieces(std::string_view text) {
  std::vector<std::string> out;
  std::string piece;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool arrow = c == '>' && i > 0 && text[i - 1] == '-';
    if (std::string_view("<([{").find(c) != std::string_view::npos) ++depth;
    if (std::string_view(">)]}").find(c) != std::string_view::npos && !arrow) --depth;
    if (c == ',' && depth == 0) {
      out.push_back(piece);
      piece.clear();
    } else if (c != ' ' || !piece.empty()) {
      piece += c;
    }
  }
  if (!piece.empty()) out.push_back(piece);
  return out;
}

BlockType type_of(const std::string& text) {
  const size_t open = text.find('<');
  const std::string keyword = text.substr(0, open);
  if (keyword != "tensor" && keyword != "vector" && keyword != "memref") return {text};
  BlockType out;
  size_t at = open + 1;
  while (std::isdigit(static_cast<unsigned char>(text[at]))) {
    const size_t end = text.find('x', at);
    out.dims.push_back(parse_int(text.substr(at, end - at)).value());
    at = end + 1;
  }
  out.element = text.substr(at, text.size() - 1 - at);
  if (const size_t comma = out.element.find(','); comma != std::string::npos) out.element.resize(comma);
  return out;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::vector<MlirOp> module() {
    expect("module");
    if (take("attributes")) braces();
    expect("{");
    return ops();
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(std::string_view word) {
    skip();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word) {
    if (take(word)) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("expected '{}' at {}", word, quote_text(text_.substr(at_, 40))));
  }
  std::string until(char end) {
    skip();
    const size_t stop = text_.find(end, at_);
    if (stop == std::string_view::npos) expect(std::string_view(&end, 1));
    std::string out(text_.substr(at_, stop - at_));
    at_ = stop + 1;
    return out;
  }
  // What is between a bracket and the one that closes it.
  std::string within(char open, char close) {
    expect(std::string_view(&open, 1));
    const size_t start = at_;
    for (int depth = 1; at_ < text_.size(); ++at_) {
      if (text_[at_] == open) ++depth;
      if (text_[at_] == close && --depth == 0) return std::string(text_.substr(start, at_++ - start));
    }
    throw Error(ErrorCode::invalid_argument, fmt::format("a '{}' isn't closed", open));
  }
  std::string braces() { return within('{', '}'); }

  std::vector<MlirOp> ops() {
    std::vector<MlirOp> out;
    while (!take("}")) out.push_back(op());
    return out;
  }
  MlirOp op() {
    MlirOp out;
    skip();
    if (text_[at_] == '%') {
      for (std::string& name : pieces(until('='))) out.results.push_back(name.substr(0, name.find(' ')));
    }
    expect("\"");
    out.name = until('"');
    out.operands = pieces(within('(', ')'));
    if (take("(")) {
      do out.regions.push_back(region());
      while (take(","));
      expect(")");
    }
    skip();
    if (text_[at_] == '{') out.attributes = braces();
    expect(":");
    within('(', ')');
    expect("->");
    for (const std::string& type : pieces(within('(', ')'))) out.result_types.push_back(type_of(type));
    return out;
  }
  MlirRegion region() {
    MlirRegion out;
    expect("{");
    if (take("^bb0")) {
      for (const std::string& parameter : pieces(within('(', ')'))) {
        const size_t colon = parameter.find(':');
        out.parameters.push_back(parameter.substr(0, colon));
        out.types.push_back(type_of(parameter.substr(colon + 2)));
      }
      expect(":");
    }
    out.ops = ops();
    return out;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::vector<MlirOp> parse_mlir(std::string_view text) { return Parser(text).module(); }

std::string MlirOp::attribute(std::string_view wanted) const {
  for (const std::string& piece : pieces(attributes)) {
    const size_t equals = piece.find(" = ");
    if (piece.substr(0, equals) == wanted) return piece.substr(equals + 3);
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("{} lacks {}", name, wanted));
}
int64_t MlirOp::integer(std::string_view wanted) const { return numbers_in(attribute(wanted)).at(0); }
Dims MlirOp::numbers(std::string_view wanted) const {
  const std::string text = attribute(wanted);
  const size_t colon = text.find(':');
  return colon == std::string::npos ? Dims{} : numbers_in(std::string_view(text).substr(colon));
}

Dims numbers_in(std::string_view text) {
  Dims out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) continue;
    size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    const int64_t value = parse_int(text.substr(i, end - i)).value();
    out.push_back(i > 0 && text[i - 1] == '-' ? -value : value);
    i = end;
  }
  return out;
}

}  // namespace tenon
