// Command lines: which commands there are, what each reads, and what it does.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tenon {

// Where an option's value goes; what is there before is its default. A bool is a flag, a list takes every value.
using OptionTarget = std::variant<bool*, int64_t*, double*, std::string*, std::optional<int64_t>*,
                                  std::optional<std::string>*, std::vector<int64_t>*, std::vector<std::string>*>;

// "--name", which may be given again if its target is a list; without dashes, what stands at its place on the line.
struct Option {
  std::string name;
  OptionTarget target;
  std::string doc;
  bool is_required = false, default_in_help = false;
  std::string type;               // as the help calls it; empty: what the target says
  const Option* other = nullptr;  // may not be given together with this one

  Option& required();
  Option& with_default();
  Option& type_name(std::string name);
  Option& excludes(const Option& option);

  bool is_positional() const { return !name.starts_with('-'); }
  bool is_flag() const { return std::holds_alternative<bool*>(target); }
};

struct Command {
  std::string name, doc;
  std::string footer;            // the end of its help
  std::string version = {};      // of the program: what --version prints
  bool hidden = false;           // from help and completion
  std::list<Option> options;     // in the help's order
  std::list<Command> commands;   // if there are any, one of them must follow
  std::function<void()> action;  // what it does, once its options are read

  // One with the same footer, and one of its options. References stay good.
  Command& add(std::string name, std::string doc);
  Option& option(std::string name, OptionTarget target, std::string doc);
};

// Reads a command line into the targets, and returns what it asks for: its command's action, or to print help or the
// version. Throws `unknown_name` or `invalid_argument`.
std::function<void()> parse_command_line(const Command& program, int argc, const char* const* argv);

// Throws `io` when standard output can't be written.
void print_text(std::string_view text);

}  // namespace tenon
