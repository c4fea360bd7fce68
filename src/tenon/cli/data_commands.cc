#include "tenon/cli/data_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/base/clock.h"
#include "tenon/base/file.h"
#include "tenon/base/processors.h"
#include "tenon/base/text.h"
#include "tenon/cli/command_line.h"
#include "tenon/cli/options.h"
#include "tenon/data/prepare.h"
#include "tenon/data/token_store.h"
#include "tenon/text/saved_tokenizer.h"
#include "tenon/text/token_stream.h"
#include "tenon/text/train_sentencepiece.h"

namespace tenon {
namespace {

struct InputOptions {
  std::vector<std::string> inputs;
  std::string field = "text", bad_text = "error";
};
struct TokenizerCommand {
  InputOptions input;
  std::string out, model = "unigram";
  int64_t vocab_size = 8192;
};
struct PrepareCommand {
  InputOptions input;
  std::string out, tokenizer = "bytes";
  int64_t jobs = std::min<int64_t>(num_processors(), 1024);
};
struct ShowCommand {
  std::string dir;
  int64_t documents = 3;
  bool verify = false;
};

TextOptions text_options(const InputOptions& options) {
  const std::vector<std::string> names = {"error", "replace", "skip"};
  const auto found = std::find(names.begin(), names.end(), options.bad_text);
  if (found == names.end()) {
    throw Error(ErrorCode::invalid_argument, "no such way to deal with what isn't text")
        .at("--bad_text")
        .got(quote_text(options.bad_text))
        .expected(join(names, ", "))
        .hint(did_you_mean(options.bad_text, names));
  }
  return {options.field, static_cast<BadText>(found - names.begin())};
}

void warn_empty(const std::vector<std::string>& files) {
  constexpr size_t kShown = 5;
  for (size_t i = 0; i < std::min(files.size(), kShown); ++i) fmt::print(stderr, "warning: {} is empty\n", files[i]);
  if (files.size() > kShown) fmt::print(stderr, "warning: {} more files are empty\n", files.size() - kShown);
}

PieceModel piece_model(const std::string& name) {
  for (const PieceModel model : {PieceModel::unigram, PieceModel::bpe}) {
    if (to_string(model) == name) return model;
  }
  throw Error(ErrorCode::invalid_argument, "no such kind of model")
      .at("--model")
      .got(quote_text(name))
      .expected("unigram, bpe");
}

// Before all the work.
void check_model_file(const std::string& out) {
  if (out.empty()) throw Error(ErrorCode::invalid_argument, "the model needs a file to go to").at("--out");
  if (exists(out)) {
    throw Error(ErrorCode::invalid_argument, "the file is there already").at(out).hint("choose another --out");
  }
  make_dirs(parent_dir(out)).value();
}

void train_tokenizer(const TokenizerCommand& command) {
  const TrainPieces settings{command.vocab_size, piece_model(command.model)};
  const TextOptions options = text_options(command.input);
  check_model_file(command.out);
  TextReader reader(list_inputs(command.input.inputs).value());
  uint64_t documents = 0, bytes = 0, bad = 0;
  const std::string model = train_sentencepiece(settings, [&]() -> std::optional<std::string> {
    std::optional<RawText> raw = reader.next();
    if (!raw) return std::nullopt;
    CleanText clean = clean_text(std::move(*raw), options);
    ++documents;
    bytes += clean.text.size();
    bad += clean.bad ? 1 : 0;
    return std::move(clean.text);
  });
  warn_empty(reader.empty_files());
  if (bad > 0) fmt::print(stderr, "warning: {} documents weren't text\n", bad);
  write_file_atomic(command.out, model).value();
  print_text(fmt::format("{}: {} pieces ({}), from {} of text in {} documents\n", command.out, command.vocab_size,
                         command.model, format_bytes(bytes), documents));
}

// Tells how far it is, a few times a second on a terminal, else every ten seconds.
class ProgressLine {
 public:
  void operator()(const PrepareProgress& p) {
    const double now = steady_seconds();
    if (now < next_) return;
    next_ = now + (terminal_ ? 0.2 : 10);
    const double percent =
        p.bytes_total == 0 ? 100 : 100 * static_cast<double>(p.bytes_read) / static_cast<double>(p.bytes_total);
    const double seconds = std::max(now - began_, 1e-9);
    fmt::print(stderr, "{}{:.0f} %  {} documents  {} tokens  {} tokens/s{}", terminal_ ? "\r" : "", percent,
               format_count(p.documents), format_count(p.tokens),
               format_count(static_cast<uint64_t>(static_cast<double>(p.tokens) / seconds)),
               terminal_ ? "\x1b[K" : "\n");
    drawn_ = true;
  }
  ~ProgressLine() {
    if (drawn_ && terminal_) fmt::print(stderr, "\r\x1b[K");
  }

 private:
  const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  const double began_ = steady_seconds();
  double next_ = began_ + (terminal_ ? 0.2 : 10);
  bool drawn_ = false;
};

void prepare(const PrepareCommand& command) {
  const auto tokenizer = open_tokenizer(command.tokenizer);
  PrepareOptions options;
  options.inputs = command.input.inputs;
  options.out = command.out;
  options.text = text_options(command.input);
  options.jobs = command.jobs;
  const double began = steady_seconds();
  const PrepareReport report = [&] {
    ProgressLine line;
    options.on_progress = [&line](const PrepareProgress& progress) { line(progress); };
    return prepare_data(*tokenizer, options);
  }();
  warn_empty(report.empty_files);
  if (report.empty_documents > 0) fmt::print(stderr, "warning: {} documents were empty\n", report.empty_documents);
  if (report.bad_documents > 0) {
    fmt::print(stderr, "warning: {} documents weren't text ({})\n", report.bad_documents,
               options.text.bad_text == BadText::skip ? "skipped" : "bad bytes replaced");
  }
  if (report.unknown_tokens > 0) {
    fmt::print(stderr, "warning: {} tokens stand for text that the tokenizer doesn't know\n", report.unknown_tokens);
  }
  print_text(fmt::format("{}: {} documents of {} files, {} tokens, {:.2f} bytes a token, {} shards, {:.1f} s\n",
                         command.out, report.documents, report.files, report.tokens,
                         static_cast<double>(report.text_bytes) / static_cast<double>(report.tokens), report.shards,
                         steady_seconds() - began));
}

// The beginning of a document, on one line.
std::string beginning(const TokenStore& store, const Document& document) {
  constexpr int64_t kTokens = 60;
  TokenStream stream(*store.tokenizer());
  std::string text;
  for (int64_t i = 0; i < std::min(document.num_tokens(), kTokens); ++i) text += stream.push(document.token(i));
  if (document.num_tokens() <= kTokens) text += stream.finish();
  for (char& c : text) c = static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
  return text + (document.num_tokens() > kTokens ? " ..." : "");
}

void show(const ShowCommand& command) {
  if (command.documents < 0) {
    throw Error(ErrorCode::invalid_argument, "not a number of documents")
        .at("--documents")
        .got(std::to_string(command.documents))
        .expected("0 or more");
  }
  const TokenStore store(command.dir);
  if (command.verify) store.verify();
  int64_t shortest = store.num_tokens(), longest = 0;
  for (const Document& document : store.documents()) {
    shortest = std::min(shortest, document.num_tokens());
    longest = std::max(longest, document.num_tokens());
  }
  const auto documents = static_cast<double>(std::max<size_t>(store.documents().size(), 1));
  const auto tokens = static_cast<double>(std::max<int64_t>(store.num_tokens(), 1));
  std::string out = fmt::format(
      "{}: {} documents, {} tokens in {} shards of {}-byte tokens{}\n"
      "vocabulary of {}, bos {}, eos {}, pad {}\n"
      "{} of text, {:.2f} bytes a token; {} to {} tokens a document, {:.1f} on average\n",
      command.dir, store.documents().size(), store.num_tokens(), store.manifest().shards.size(),
      store.manifest().token_bytes, command.verify ? ", all as they were written" : "", store.manifest().vocab_size,
      store.tokenizer()->bos_id(), store.tokenizer()->eos_id(), store.tokenizer()->pad_id(),
      format_bytes(store.text_bytes()), static_cast<double>(store.text_bytes()) / tokens, shortest, longest,
      tokens / documents);
  const auto shown = std::min(store.documents().size(), static_cast<size_t>(command.documents));
  for (size_t i = 0; i < shown; ++i) {
    const Document& document = store.documents()[i];
    out += fmt::format("document {} ({} tokens): {}\n", i, document.num_tokens(), beginning(store, document));
  }
  print_text(out);
}

void add_input_options(Command& command, InputOptions& options) {
  command.option("input", &options.inputs, "files of texts (.txt, .jsonl, .jsonl.gz), or folders with such").required();
  command.option("--field", &options.field, "the member of a .jsonl's lines that has the text").with_default();
  command
      .option("--bad_text", &options.bad_text,
              "what isn't UTF-8: error; replace (bad bytes by U+FFFD); skip (the document)")
      .with_default();
}

void add_tokenizer(Command& data) {
  const auto c = std::make_shared<TokenizerCommand>();
  Command& command = data.add("tokenizer", "trains a SentencePiece model");
  add_input_options(command, c->input);
  command.option("--out", &c->out, "the model's file").required();
  command.option("--vocab_size", &c->vocab_size, "tokens in all, the 256 bytes among them").with_default();
  command.option("--model", &c->model, "unigram or bpe").with_default();
  command.action = [c] { train_tokenizer(*c); };
}

void add_prepare(Command& data) {
  const auto c = std::make_shared<PrepareCommand>();
  Command& command = data.add("prepare", "tokenizes texts into a directory that training reads");
  add_input_options(command, c->input);
  command.option("--out", &c->out, "the directory, which must not be there yet").required();
  command.option("--tokenizer", &c->tokenizer, "bytes; a SentencePiece model; prepared data, for the same as there")
      .with_default();
  command.option("--jobs", &c->jobs, "threads; what is written doesn't depend on it (default: all cores)");
  command.action = [c] { prepare(*c); };
}

void add_show(Command& data) {
  const auto c = std::make_shared<ShowCommand>();
  Command& command = data.add("show", "tells what prepared data has");
  command.option("dir", &c->dir, "directory of prepared data").required();
  command.option("--documents", &c->documents, "beginnings of so many documents").with_default();
  command.option("--verify", &c->verify, "compares all tokens with their checksums");
  command.action = [c] { show(*c); };
}

}  // namespace

void add_data_commands(Command& program) {
  Command& data = program.add("data", "makes what training reads from files of text");
  add_tokenizer(data);
  add_prepare(data);
  add_show(data);
}

}  // namespace tenon
