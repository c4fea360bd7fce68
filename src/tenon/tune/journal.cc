#include "tenon/tune/journal.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/file.h"
#include "tenon/base/text.h"
#include "tenon/pjrt/fingerprint.h"

namespace tenon {
namespace {

constexpr int64_t kVersion = 1;
constexpr std::string_view kSpeeds = "speeds";

Json subject_json(const JournalSubject& s) {
  return Json::Object{
      {"tenon_tune", kVersion}, {"experiment", s.experiment}, {"target", s.target}, {"global_batch", s.global_batch},
      {"config", s.config},     {"build", s.build},           {"plugin", s.plugin}, {"machine", s.machine}};
}

void check_subject(const Json& line, const JournalSubject& wanted) {
  if (line.whole_number("tenon_tune", 1000) != kVersion) throw Error(ErrorCode::damaged, "another version's journal");
  struct Part {
    const char *key, *name;
  };
  constexpr Part kParts[] = {{"experiment", "experiment"},
                             {"target", "target"},
                             {"global_batch", "global batch"},
                             {"config", "config of the experiment"},
                             {"build", "build of Tenon"},
                             {"plugin", "compiler"},
                             {"machine", "description of the machine"}};
  const Json all = subject_json(wanted);
  for (const Part& part : kParts) {
    const std::string got = line.member(part.key).text(), expected = all.member(part.key).text();
    if (got == expected) continue;
    throw Error(ErrorCode::incompatible, fmt::format("the journal is of another {}", part.name))
        .got(got)
        .expected(expected)
        .hint("choose another --dir, or remove the journal to start anew");
  }
}

void is_code_of_this() {}

}  // namespace

std::string build_fingerprint() {
  Dl_info info{};
  const bool found = dladdr(reinterpret_cast<const void*>(&is_code_of_this), &info) != 0;
  const std::string file = found && info.dli_fname != nullptr ? info.dli_fname : "";
  // A program is named as it was called, which may be by no path.
  const bool is_library = file.find(".so") != std::string::npos;
  return pjrt::file_fingerprint(is_library ? file : "/proc/self/exe").value();
}

Journal Journal::open(const std::string& path, const JournalSubject& subject) {
  Journal journal(path);
  if (!exists(path)) {
    write_file_atomic(path, subject_json(subject).text() + "\n").value();
    return journal;
  }
  const std::string text = read_file(path).value();
  const std::string whole = text.substr(0, text.rfind('\n') + 1);
  try {
    journal.read(whole, subject);
  } catch (const Error& e) {
    // Of another search that came to no result: nothing is lost.
    if (e.code() != ErrorCode::incompatible || std::count(whole.begin(), whole.end(), '\n') > 1) throw;
    write_file_atomic(path, subject_json(subject).text() + "\n").value();
    return journal;
  }
  if (whole.size() != text.size()) write_file_atomic(path, whole).value();
  return journal;
}

void Journal::read(const std::string& text, const JournalSubject& subject) {
  std::vector<std::string> lines = split(text, '\n');
  lines.pop_back();
  for (size_t i = 0; i < std::max<size_t>(lines.size(), 1); ++i) {
    try {
      const Json line = Json::parse(i < lines.size() ? lines[i] : "").value();
      if (i == 0) {
        check_subject(line, subject);
      } else {
        read_line(line);
      }
    } catch (Error& e) {
      throw e.at(fmt::format("{}:{}", path_, i + 1));
    }
  }
}

void Journal::read_line(const Json& line) {
  if (line.find(kSpeeds) != nullptr) {
    speeds_ = read_speeds(line.member(kSpeeds));
  } else {
    evaluations_.push_back(read_evaluation(line));
  }
}

const Evaluation* Journal::find(const std::string& rule, const std::string& program) const {
  const Evaluation* found = nullptr;
  for (const Evaluation& e : evaluations_) {
    if (e.rule == rule && e.program == program) found = &e;
  }
  return found;
}

void Journal::add(const Evaluation& evaluation) {
  write(to_json(evaluation));
  evaluations_.push_back(evaluation);
}

void Journal::add(const MachineSpeeds& speeds) {
  write(Json::Object{{std::string(kSpeeds), to_json(speeds)}});
  speeds_ = speeds;
}

void Journal::write(const Json& line) const {
  OutputFile file = OutputFile::append(path_).value();
  file.write(line.text({.replace_bad_utf8 = true}) + "\n").value();
  file.finish().value();
}

}  // namespace tenon
