// Steps run on devices that are here, to see how long they take.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenon/trainer/trainer.h"

namespace tenon {

// Of every round, in seconds: by the clock, and of processors, all threads together.
struct StepTimes {
  std::vector<double> clock, processor;
  // The least, which others on the machine disturb least, and the middle one.
  static double least(const std::vector<double>& seconds);
  static double median(std::vector<double> seconds);
};

// Compiles the train steps and runs each once to warm up; then, so many rounds long, one step of each in turn, on the
// batches of the first config. All states are in memory at once. `progress`, unless empty, is told what is done.
// Throws `invalid_argument` for no rounds, and what building, data, compiling and running throw.
std::vector<StepTimes> measure_steps(const std::vector<Trainer::Config>& configs,
                                     const std::shared_ptr<const Backend>& backend, int64_t rounds,
                                     const std::function<void(const std::string&)>& progress = {});

}  // namespace tenon
