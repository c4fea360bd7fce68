#include "tenon/config/any_config.h"

#include <fmt/format.h>

#include "tenon/base/error.h"
#include "tenon/config/tree.h"
#include "tenon/config/validate.h"

namespace tenon {

const ConfigType& AnyConfig::static_type() {
  static const ConfigType type(
      [] {
        ConfigType::Parts parts;
        parts.name = "Configurable";
        parts.doc = "anything that is built from a config";
        return parts;
      }(),
      {});
  return type;
}

bool AnyConfig::equal(const AnyConfig& a, const AnyConfig& b) {
  if (&a == &b) return true;
  if (&a.type() != &b.type()) return false;
  return equal_fields(fields_of(const_cast<AnyConfig&>(a)), fields_of(const_cast<AnyConfig&>(b)));
}

std::unique_ptr<AnyConfig> clone(const AnyConfig& config) { return config.type().clone(config); }

std::unique_ptr<Configurable> build(const AnyConfig& config) {
  require_set(config);
  check_own(config);
  const detail::ConfigScope scope(config);
  return config.type().construct(config);
}

namespace detail {
namespace {

thread_local const ConfigScope* innermost_scope = nullptr;

class AddressFinder : public TreeVisitor {
 public:
  explicit AddressFinder(const void* address) : address_(address) {}
  bool value(const Path& path, const ValueRef& value) override {
    // A struct's first field has the struct's address: the last match is the innermost.
    const bool emptiable = value.kind() == ValueType::Kind::holder || value.kind() == ValueType::Kind::slot;
    if (value.data == address_ && emptiable) found_ = format_path(path);
    return true;
  }
  const std::string& found() const { return found_; }

 private:
  const void* address_;
  std::string found_;
};

}  // namespace

ConfigScope::ConfigScope(const AnyConfig& config) : config_(config), outer_(innermost_scope) { innermost_scope = this; }
ConfigScope::~ConfigScope() { innermost_scope = outer_; }

void throw_unset(const void* field) {
  for (const ConfigScope* scope = innermost_scope; scope != nullptr; scope = scope->outer_) {
    AddressFinder finder(field);
    walk(scope->config_, finder);
    if (!finder.found().empty()) {
      throw Error(ErrorCode::missing_field, fmt::format("the required field {} was never set", finder.found()))
          .at(finder.found());
    }
  }
  throw Error(ErrorCode::missing_field, "a required field was read before it was set");
}

}  // namespace detail
}  // namespace tenon
