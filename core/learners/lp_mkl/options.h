// Options of lp-norm multiple kernel learning.
#pragma once

#include <cstdint>

#include "core/base/status/options.h"
#include "core/kernels/lowrank/landmarks.h"
#include "core/solvers/mkl/inner_solver.h"
#include "core/training/contract/loss_choice.h"

namespace mercer::lp_mkl {

enum class OuterLoopChoice : uint8_t { kNewton, kOverRelaxed, kAlternation, kSmoMkl, kInterleaved };
enum class Approximation : uint8_t { kNone, kNystrom, kPivotedCholesky };

struct LpMklOptions {
  double p = 2.0;
  double C = 1.0;
  double epsilon = 0.1;
  LossChoice loss = LossChoice::kAuto;
  InnerSolverChoice inner_solver = InnerSolverChoice::kAuto;
  OuterLoopChoice outer_loop = OuterLoopChoice::kNewton;
  double weight_penalty = 0;
  Approximation approximation = Approximation::kNone;
  bool exact_certificate = false;
  int64_t landmarks = 100;
  LandmarkSelection landmark_selection = LandmarkSelection::kUniform;
  bool own_landmarks = false;
  int64_t rank = 0;
  double eigenvalue_threshold = 1e-10;
  double compression_tolerance = 1e-8;

  // Of the weights: SMO-MKL's alone.
  double penalty() const { return outer_loop == OuterLoopChoice::kSmoMkl ? weight_penalty : 0.0; }
  bool is_low_rank() const { return approximation != Approximation::kNone; }
  // Whether each kernel has landmarks that are chosen for it alone among so many rows. Nystrom's are
  // shared where all rows are landmarks.
  bool has_own_landmarks(Index rows) const {
    return approximation == Approximation::kPivotedCholesky ||
           (approximation == Approximation::kNystrom && own_landmarks && landmarks < rows);
  }
  // Whether landmarks are chosen by what the kernels see.
  bool selects_by_kernels() const {
    return approximation == Approximation::kPivotedCholesky ||
           (approximation == Approximation::kNystrom &&
            (landmark_selection == LandmarkSelection::kLeverage ||
             landmark_selection == LandmarkSelection::kPivotedCholesky));
  }

  static const OptionSchema<LpMklOptions>& Fields();
};

}  // namespace mercer::lp_mkl
