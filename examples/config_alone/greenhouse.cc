// A greenhouse with a config: fields by name, checks, parts that are exchanged by text.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/config/define.h"
#include "tenon/config/registry.h"
#include "tenon/config/text.h"

namespace {

class Watering : public tenon::Configurable {
 public:
  struct Config : tenon::AnyConfig {
    TENON_FIELDS()
  };
  virtual std::string describe() const = 0;
};
TENON_INTERFACE(Watering, tenon::Configurable, "how plants get water")

class Drip final : public Watering {
 public:
  struct Config : Watering::Config {
    int64_t litres = 1;
    void check(tenon::Checker& c) const { c.positive("litres", litres); }
    TENON_CONFIG(litres)
  };
  explicit Drip(const Config& config) : litres_(config.litres) {}
  std::string describe() const override { return std::to_string(litres_) + " l"; }

 private:
  int64_t litres_;
};
TENON_MODULE(Drip, Watering, "a little at a time", {"litres", "a day"})

class Greenhouse final : public tenon::Configurable {
 public:
  struct Config : tenon::AnyConfig {
    std::string name = "greenhouse";
    tenon::Slot<Watering> watering = Drip::Config{};
    TENON_CONFIG(name, watering)
  };
  explicit Greenhouse(const Config& config) : name_(config.name), watering_(config.watering.build()) {}
  std::string describe() const { return name_ + ": " + watering_->describe(); }

 private:
  std::string name_;
  std::unique_ptr<Watering> watering_;
};
TENON_MODULE(Greenhouse, tenon::Configurable, "glass, and plants in it")

}  // namespace

int main(int argc, char** argv) try {
  tenon::Registry::global().add<Drip, Greenhouse>();
  Greenhouse::Config config;
  std::vector<std::string> assignments;
  for (int i = 1; i + 1 < argc; i += 2) assignments.emplace_back(argv[i + 1]);
  tenon::apply_set(config, assignments);
  std::printf("%s%s\n", tenon::to_toml(config).c_str(), Greenhouse(config).describe().c_str());
  return 0;
} catch (const tenon::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return tenon::exit_status(error.code());
}
