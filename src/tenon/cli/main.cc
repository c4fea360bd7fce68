#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "tenon/base/allocator.h"
#include "tenon/cli/app.h"

namespace {

// Standard streams that the caller closed lead nowhere, so that no file gets their numbers and what is logged to them.
void open_standard_streams() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDWR);
  if (fd > STDERR_FILENO) close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write, like a full disk
  tenon::configure_allocator();
  return tenon::run_app(argc, argv);
}
