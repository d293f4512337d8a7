// Options of recursive feature elimination with a linear support vector machine.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status/options.h"

namespace mercer::svm_rfe {

enum class Schedule { kPowerOfTwo, kHalfUp, kOne };

struct SvmRfeOptions {
  double C = 100.0;
  int64_t columns = 0;
  Schedule schedule = Schedule::kPowerOfTwo;
  std::vector<double> counts;

  static const OptionSchema<SvmRfeOptions>& Fields();
};

}  // namespace mercer::svm_rfe
