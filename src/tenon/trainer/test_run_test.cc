#include "tenon/trainer/test_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tenon/base/file.h"
#include "tenon/base/text.h"
#include "tenon/pjrt/plugin.h"

namespace tenon {

std::shared_ptr<const Backend> cpu(int devices) {
  static std::map<int, std::shared_ptr<const Backend>> backends;
  auto& backend = backends[devices];
  if (backend == nullptr) backend = Backend::open(devices == 1 ? "cpu" : fmt::format("cpu:{}", devices));
  return backend;
}

Trainer::Config child_config(const std::string& dir, int64_t steps) {
  Trainer::Config c = tiny_config(join_path(parent_dir(dir), "text.txt"));
  c.max_steps = steps;
  c.save_every_n_steps = 5;
  return c;
}

int train_as_child(const std::string& dir, const std::string& platform, const std::string& steps) {
  try {
    RunOptions options;
    options.dir = dir;
    options.platform = platform;
    options.quiet = true;
    train(child_config(dir, parse_int(steps).value()), options);
    return 0;
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return exit_status(e.code());
  }
}

pid_t start_child(const std::string& dir, const std::string& platform, int64_t steps) {
  const std::string number = std::to_string(steps);
  const pid_t child = ::fork();
  if (child == 0) {
    const int log = ::open((dir + ".log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(log, 1);
    ::dup2(log, 2);
    ::execl("/proc/self/exe", "trainer_test", "--train", dir.c_str(), platform.c_str(), number.c_str(), nullptr);
    ::_exit(127);
  }
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::map<int64_t, std::string> losses(const std::string& dir) {
  std::map<int64_t, std::string> out;
  const std::string path = join_path(dir, "metrics.jsonl");
  if (!exists(path)) return out;
  const auto number_behind = [](const std::string& line, const std::string& key) {
    const size_t at = line.find("\"" + key + "\":");
    if (at == std::string::npos) return std::string();
    const size_t begin = at + key.size() + 3;
    return line.substr(begin, line.find_first_of(",}", begin) - begin);
  };
  for (const std::string& line : split(read_file(path).value(), '\n')) {
    const std::string loss = number_behind(line, "train/loss");
    if (!loss.empty()) out[parse_int(number_behind(line, "step")).value()] = loss;
  }
  return out;
}

RunTest::RunTest() : root_(testing::TempDir() + "tenon_run_" + random_suffix()) {
  make_dirs(root_).value();
  write_tiny_text(path("text.txt"));
}
RunTest::~RunTest() { remove_tree(root_).value(); }

void RunTest::SetUp() {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
}

std::string RunTest::path(const std::string& name) const { return join_path(root_, name); }

Trainer::Config RunTest::config(int64_t steps) const { return child_config(path("run"), steps); }

TrainResult RunTest::run(const std::string& name, const Trainer::Config& config, int devices, Resume resume) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* out = ::open_memstream(&text, &size);
  const auto close = [&] {
    std::fclose(out);
    output_.assign(text, size);
    std::free(text);
  };
  RunOptions options;
  options.dir = path(name);
  options.resume = resume;
  options.out = out;
  options.backend = cpu(devices);
  options.profile = profile_;
  options.trap_non_finite = trap_;
  options.new_optimizer = new_optimizer_;
  options.dry_run = dry_run_;
  try {
    const TrainResult result = train(config, options);
    close();
    return result;
  } catch (...) {
    close();
    throw;
  }
}

Error RunTest::failure(const std::string& name, const Trainer::Config& config, Resume resume) {
  try {
    run(name, config, 1, resume);
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorCode::internal, "");
}

}  // namespace tenon
