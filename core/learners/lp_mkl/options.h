// Options of lp-norm multiple kernel learning.
#pragma once

#include <cstdint>

#include "core/base/options.h"

namespace mercer::lp_mkl {

enum class InnerSolverChoice : uint8_t { kAuto, kNewton, kSmo };
enum class OuterLoopChoice : uint8_t { kNewton, kOverRelaxed, kAlternation };

struct LpMklOptions {
  double p = 2.0;
  double C = 1.0;
  double epsilon = 0.1;
  InnerSolverChoice inner_solver = InnerSolverChoice::kAuto;
  OuterLoopChoice outer_loop = OuterLoopChoice::kNewton;

  static const OptionSchema<LpMklOptions>& Fields();
};

}  // namespace mercer::lp_mkl
