#include "tenon/base/allocator.h"
#include "tenon/cli/app.h"

int main(int argc, char** argv) {
  tenon::configure_allocator();
  return tenon::run_app(argc, argv);
}
