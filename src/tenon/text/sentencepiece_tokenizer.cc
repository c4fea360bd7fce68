#include "tenon/text/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include <algorithm>

#include "tenon/base/file.h"
#include "tenon/config/define.h"
#include "tenon/config/text.h"
#include "tenon/text/sentencepiece_words.h"

namespace tenon {
namespace {

constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581 stands for a space in pieces
constexpr const char* kModelName = "tokenizer.model";
constexpr uint64_t kMaxModelBytes = uint64_t{256} << 20;

std::string with_spaces(std::string_view piece) {
  std::string out;
  for (size_t at = 0; at < piece.size();) {
    const bool space = piece.substr(at).starts_with(kSpace);
    out += space ? ' ' : piece[at];
    at += space ? kSpace.size() : 1;
  }
  return out;
}

// "<0x0A>".
char byte_of(std::string_view piece) {
  return static_cast<char>(std::stoi(std::string(piece.substr(3, 2)), nullptr, 16));
}

}  // namespace

TENON_MODULE(SentencePieceTokenizer, Tokenizer, "a SentencePiece model", {"path", "the model's file"})

void SentencePieceTokenizer::Config::rebase(const std::string& dir) {
  if (path.is_set() && !path->starts_with('/')) path = join_path(dir, *path);
}

// What the library makes of the model, and each token's bytes.
struct SentencePieceTokenizer::Library {
  std::string model;
  sentencepiece::SentencePieceProcessor processor;
  // A text's first piece loses the space in front that the library put there when it encoded.
  bool drops_first_space = false;
  std::vector<std::string> bytes;
  std::vector<bool> special;

  void read_pieces() {
    for (int id = 0; id < processor.GetPieceSize(); ++id) {
      const std::string& piece = processor.IdToPiece(id);
      const bool textless = processor.IsControl(id) || processor.IsUnknown(id) || processor.IsUnused(id);
      special.push_back(textless);
      bytes.push_back(textless ? "" : processor.IsByte(id) ? std::string(1, byte_of(piece)) : with_spaces(piece));
      if (!textless && !drops_first_space && piece.starts_with(kSpace)) {
        std::string decoded;
        drops_first_space =
            processor.Decode(std::vector<int>{id}, &decoded).ok() && decoded.size() < bytes.back().size();
      }
    }
  }
};

SentencePieceTokenizer::SentencePieceTokenizer(const Config& config) : library_(std::make_unique<Library>()) {
  const std::string path = config.path;
  library_->model = read_file(path, kMaxModelBytes).value();
  const auto status = library_->processor.LoadFromSerializedProto(library_->model);
  if (!status.ok() || library_->processor.GetPieceSize() == 0) {
    throw Error(ErrorCode::damaged, "not a SentencePiece model")
        .at(path)
        .got(status.ok() ? "a model without pieces" : sentencepiece_words(status.error_message(), "other bytes"))
        .hint("`tenon data tokenizer` trains one");
  }
  if (bos_id() < 0 || eos_id() < 0 || library_->processor.unk_id() < 0) {
    throw Error(ErrorCode::unsupported, "the model has no token for the beginning or the end of a text")
        .at(path)
        .hint("train it with bos_id and eos_id");
  }
  library_->read_pieces();
}
SentencePieceTokenizer::~SentencePieceTokenizer() = default;

int64_t SentencePieceTokenizer::vocab_size() const { return library_->processor.GetPieceSize(); }
int32_t SentencePieceTokenizer::bos_id() const { return library_->processor.bos_id(); }
int32_t SentencePieceTokenizer::eos_id() const { return library_->processor.eos_id(); }
int32_t SentencePieceTokenizer::pad_id() const {
  const int id = library_->processor.pad_id();
  return id < 0 ? library_->processor.unk_id() : id;
}

void SentencePieceTokenizer::encode(std::string_view text, std::vector<int32_t>& tokens) const {
  std::vector<int> ids;
  const auto status = library_->processor.Encode(text, &ids);
  if (!status.ok())
    throw Error(ErrorCode::invalid_argument, "the text can't be tokenized")
        .got(sentencepiece_words(status.error_message(), "no reason"));
  tokens.insert(tokens.end(), ids.begin(), ids.end());
}

std::string SentencePieceTokenizer::token_bytes(int32_t token, bool first) const {
  if (token < 0 || token >= vocab_size()) return {};
  const std::string& bytes = library_->bytes[static_cast<size_t>(token)];
  const bool drop =
      first && library_->drops_first_space && !library_->processor.IsByte(token) && bytes.starts_with(' ');
  return drop ? bytes.substr(1) : bytes;
}

bool SentencePieceTokenizer::is_special(int32_t token) const {
  return token < 0 || token >= vocab_size() || library_->special[static_cast<size_t>(token)];
}

Tokenizer::Saved SentencePieceTokenizer::save() const {
  Config config;
  config.path = kModelName;
  return {to_toml(config), {{kModelName, library_->model}}};
}

}  // namespace tenon
