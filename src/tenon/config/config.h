// What a header needs to declare configs: start here.
//
//   class Linear final : public Module {
//    public:
//     struct Config : Module::Config {
//       Required<int64_t> input_dim, output_dim;
//       bool bias = false;
//       void check(Checker& c) const;                   // optional
//       TENON_CONFIG(input_dim, output_dim, bias)
//     };
//     explicit Linear(const Config& config);
//   };
//
// and in the .cc, with tenon/config/define.h: TENON_MODULE(Linear, Module, "y = x W + b").
#pragma once

#include "tenon/config/any_config.h"  // IWYU pragma: export
#include "tenon/config/checker.h"     // IWYU pragma: export
#include "tenon/config/fields.h"      // IWYU pragma: export
#include "tenon/config/fn.h"          // IWYU pragma: export
#include "tenon/config/required.h"    // IWYU pragma: export
#include "tenon/config/slot.h"        // IWYU pragma: export
