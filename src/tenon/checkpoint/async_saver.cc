#include "tenon/checkpoint/async_saver.h"

#include <utility>

#include "tenon/base/span.h"

namespace tenon {

AsyncSaver::AsyncSaver(const std::string& dir, SaveOptions options, SaveGuard guard)
    : writer_(CheckpointWriter::open(dir, std::move(options)).value()), guard_(std::move(guard)) {}

AsyncSaver::~AsyncSaver() {
  if (thread_.joinable()) thread_.join();
}

void AsyncSaver::save(SaveRequest request) {
  wait();
  done_ = false;
  thread_ = std::thread([this, request = std::move(request)] {
    name_thread("save");
    const Span span("write checkpoint of step", request.step);
    try {
      const std::shared_ptr<void> guarded = guard_ ? guard_(request.step) : nullptr;
      report_ = writer_.save(request).value();
    } catch (...) {
      failure_ = std::current_exception();
    }
    done_ = true;
  });
}

void AsyncSaver::check() {
  if (done_) wait();
}

void AsyncSaver::wait() {
  if (thread_.joinable()) {
    const Span span("wait for a save");
    thread_.join();
  }
  if (report_) last_ = std::exchange(report_, std::nullopt);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace tenon
