// Options of lp-norm multiple kernel learning.
#pragma once

#include <cstdint>

#include "core/base/status/options.h"
#include "core/kernels/lowrank/landmarks.h"
#include "core/solvers/mkl/inner_solver.h"
#include "core/training/contract/loss_choice.h"

namespace mercer::lp_mkl {

enum class OuterLoopChoice : uint8_t { kNewton, kOverRelaxed, kAlternation, kSmoMkl, kInterleaved };
enum class Approximation : uint8_t { kNone, kNystrom };

struct LpMklOptions {
  double p = 2.0;
  double C = 1.0;
  double epsilon = 0.1;
  LossChoice loss = LossChoice::kAuto;
  InnerSolverChoice inner_solver = InnerSolverChoice::kAuto;
  OuterLoopChoice outer_loop = OuterLoopChoice::kNewton;
  Approximation approximation = Approximation::kNone;
  bool exact_certificate = false;
  int64_t landmarks = 100;
  LandmarkSelection landmark_selection = LandmarkSelection::kUniform;
  int64_t rank = 0;
  double eigenvalue_threshold = 1e-10;
  double compression_tolerance = 1e-8;

  static const OptionSchema<LpMklOptions>& Fields();
};

}  // namespace mercer::lp_mkl
