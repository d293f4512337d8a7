#include <algorithm>
#include <cmath>

#include "core/base/status/byte_count.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/lowrank/joint_basis.h"
#include "core/learners/lp_mkl/interleaved_learner.h"
#include "core/learners/lp_mkl/joint_learner.h"
#include "core/learners/lp_mkl/kernels.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/learners/lp_mkl/option_checks.h"
#include "core/learners/lp_mkl/verify.h"
#include "core/solvers/mkl/mkl_loop.h"
#include "core/training/contract/learner_entry.h"
#include "core/training/contract/loss_choice.h"
#include "core/training/contract/single_task.h"

namespace mercer::lp_mkl {
namespace {

// Learner's and verifier's kernels, a Newton system of all rows or SMO's columns, products of the
// free rows, and vectors.
size_t EstimateMemory(const LpMklOptions& options, const ProblemShape& shape) {
  constexpr size_t kVectors = 60;
  const ByteCount rows(shape.rows);
  const ByteCount kernels(shape.kernels);
  const ByteCount number(sizeof(double));
  const bool curved = IsCurved(options.loss);  // then most rows are in the products
  const ByteCount of_model = std::min(kernels, ByteCount(kMaxModelKernels));
  if (options.is_low_rank()) {
    const ByteCount columns = curved ? of_model + ByteCount(kVectors) : ByteCount(kVectors);
    // Of a pass over all pairs, with its partial sums.
    constexpr ByteCount kTiles(size_t{40} << 20);
    const ByteCount exact = options.exact_certificate
                                ? VerifierFamilyBytes(shape) + columns * rows * number +
                                      std::min(kTiles, ByteCount(8) * rows * rows * number)
                                : ByteCount(0);
    return (LowRankBytes(options, shape) + columns * rows * number + exact).value();
  }
  if (options.outer_loop == OuterLoopChoice::kSmoMkl) {
    // Outputs that are done keep their products, in several copies while a checkpoint is made.
    const ByteCount resting =
        ByteCount(shape.outputs > 1 ? 4 : 0) * ByteCount(shape.outputs) * rows * kernels * number;
    return (LearnerFamilyBytes(shape) + VerifierFamilyBytes(shape) +
            JointSolverBytes(options, shape) + ByteCount(kVectors) * rows * number + resting)
        .value();
  }
  const ByteCount model_columns = ByteCount(3) * of_model + ByteCount(kVectors);
  return (LearnerFamilyBytes(shape) + VerifierFamilyBytes(shape) +
          MachineBytes(options.loss, shape) +
          number * (rows * model_columns + ByteCount(8) * kernels))
      .value();
}

// A fit to Gaussian kernels on noisy classes: 8 SVMs for p = 1, 4 for p = 2, 3 for p = 4. The
// closed form of the weights takes several times as many.
double CountSvms(const LpMklOptions& options, const ProblemShape& shape) {
  if (shape.kernels == 1 || std::isinf(options.p)) {
    return 1;
  }
  // Of hundreds of kernels, one for each column, most weights have a longer way to go.
  const double many = std::max(0.0, std::log2(static_cast<double>(shape.kernels) / 60));
  // Those of a few are soon where they belong: three take 3 or 4 SVMs at p = 2.
  const double share = std::min(1.0, 0.5 + std::log2(static_cast<double>(shape.kernels)) / 6);
  return share * (2 + 5 / options.p + many) *
         (options.outer_loop == OuterLoopChoice::kAlternation ? 4 : 1);
}

// Factors of all rows on a joint basis, which a verifier makes anew unless it finds them, and about 60 Newton systems
// of a tenth of the rows, or those of a loss with a curvature.
LearnerWork EstimateLowRankWork(const LpMklOptions& options, const ProblemShape& shape) {
  constexpr double kProbes = 8;  // of what the basis leaves out
  constexpr double kNewtonSystems = 60;
  const auto rows = static_cast<double>(shape.rows);
  const auto kernels = static_cast<double>(shape.kernels);
  const double landmarks = std::min(static_cast<double>(options.landmarks), rows);
  const double of_kernel =
      options.rank > 0 ? std::min(landmarks, static_cast<double>(options.rank)) : landmarks;
  const bool own = options.has_own_landmarks(shape.rows);
  const double features = of_kernel * kernels;
  const double all_landmarks = std::min(own ? kernels * landmarks : landmarks, rows);
  const double rank = std::min(features, 7 * (own ? landmarks * std::sqrt(kernels) : landmarks));
  const double sampled = std::min(
      rows, static_cast<double>(JointSampleRows(static_cast<Index>(rank))) + all_landmarks);
  LearnerWork work;
  work.verification[WorkKind::kKernelValues] = rows * landmarks * kernels;
  work.verification[WorkKind::kFactorOperations] = rows * landmarks * (rank + kProbes * kernels) +
                                                   sampled * features * (rank + landmarks) +
                                                   0.5 * features * rank * rank;
  if (options.selects_by_kernels()) {
    // Two passes over all rows, or a column for each pivot; the mean kernel or each one.
    const bool leverage = options.approximation == Approximation::kNystrom &&
                          options.landmark_selection == LandmarkSelection::kLeverage;
    work.verification[WorkKind::kKernelValues] += (leverage ? 2 : 1) * rows * landmarks * kernels;
    work.verification[WorkKind::kFactorOperations] +=
        (leverage ? 1 : 2) * rows * landmarks * landmarks * (own ? kernels : 1);
  }
  work.training = work.verification;
  if (options.exact_certificate) {
    work.verification += KernelSumWork(shape);
  }
  const double passes = 2 * rows * rank + 2 * rank * rank * rank;
  const double gram = 0.5 * rows * rank * rank;
  const double svms = CountSvms(options, shape);
  // A training combines the kernels for every SVM.
  work.training[WorkKind::kFactorOperations] += 0.5 * svms * features * rank * rank;
  const double systems = CountCurvedSystems(options.loss, options.C, svms) + svms;
  work.training[WorkKind::kFactorOperations] += IsCurved(options.loss)
                                                    ? systems * (3 * passes + gram)
                                                    : kNewtonSystems * (passes + 0.1 * gram);
  if (options.outer_loop == OuterLoopChoice::kInterleaved) {
    work.training[WorkKind::kFactorOperations] +=
        kNewtonSystems * kernels * of_kernel * rank * rank;
  }
  return work;
}

// Pair steps that read and write all products, rows of all kernels once, and products for the
// certificates.
LearnerWork EstimateJointWork(const LpMklOptions& options, const ProblemShape& shape) {
  constexpr double kNumbersOfStep = 10;
  const double kernels = static_cast<double>(shape.kernels);
  LearnerWork work{KernelSumWork(shape), KernelSumWork(shape)};
  work.training = WorkCount();
  work.training[WorkKind::kFamilies] = 1;
  WorkCount smo = SmoWork(shape, options.C, std::pow(kernels, 1 - 1 / options.p));
  smo[WorkKind::kPairSteps] *= kNumbersOfStep * kernels;
  work.training += smo;
  work.training[WorkKind::kKernelValues] += 2 * CountPairs(shape) * kernels;
  return work;
}

// SVMs of changing weights, each followed by the quadratic forms of all kernels.
LearnerWork EstimateWork(const LpMklOptions& options, const ProblemShape& shape) {
  if (options.is_low_rank()) {
    return EstimateLowRankWork(options, shape);
  }
  if (options.outer_loop == OuterLoopChoice::kSmoMkl) {
    return EstimateJointWork(options, shape);
  }
  const double kernels = static_cast<double>(shape.kernels);
  LearnerWork work{WorkCount(), KernelSumWork(shape)};
  work.verification[WorkKind::kEntries] = 0;  // its products form no matrix
  work.training[WorkKind::kFamilies] = 1;
  const bool fixed = shape.kernels == 1 || std::isinf(options.p);
  const double svms = CountSvms(options, shape);
  // A combination, and only the support vectors' rows and columns in the forms; in a Newton step of
  // the weights the products of the support vectors with the free ones among them.
  const bool newton = !fixed && options.outer_loop == OuterLoopChoice::kNewton;
  const double passes = svms * 1.6 + (newton ? 0.4 * std::max(0.0, svms - 3) : 0.0);
  const double values = passes * CountPassValues(shape, kernels) * SupportShare(shape);
  const double lone = static_cast<double>(shape.lone_kernels) / std::max(kernels, 1.0);
  work.training[WorkKind::kSearchValues] = values * (1 - lone);
  work.training[WorkKind::kKernelValues] = values * lone;
  work.training[WorkKind::kEntries] += svms * 2 * CountPairs(shape);
  if (IsCurved(options.loss)) {
    // The Hessian of the weights is a factorisation more for every SVM.
    work.training +=
        CurvedWork(shape, CountCurvedSystems(options.loss, options.C, svms), fixed ? 0 : svms);
    return work;
  }
  // Weights within |w|_p <= 1 are n^(-1/p) when they are equal; every SVM begins at the solution
  // before it.
  const double sum = fixed ? kernels : std::pow(kernels, 1 - 1 / options.p);
  WorkCount smo = SmoWork(shape, options.C, sum);
  smo[WorkKind::kPairSteps] *= fixed ? 1 : 2;
  smo[WorkKind::kEntries] *= svms;
  smo[WorkKind::kReads] *= svms;
  work.training += smo;
  return work;
}

absl::StatusOr<std::unique_ptr<Learner>> Create(const LpMklOptions& options) {
  MERCER_RETURN_IF_ERROR(CheckCombinations(options));
  if (options.outer_loop == OuterLoopChoice::kSmoMkl) {
    return MakeJointLearner(options);
  }
  if (options.outer_loop == OuterLoopChoice::kInterleaved) {
    return MakeInterleavedLearner(options);
  }
  return MakeAlternatingLearner(options);
}

}  // namespace

LearnerEntry Entry() {
  return MakeEntry<LpMklOptions>(
      {.name = "lp_mkl",
       .title = "lp-norm multiple kernel learning",
       .summary =
           "Learns a support vector machine together with non-negative weights of its kernels, "
           "|weights|_p <= 1. p = 1 selects few kernels, p = 2 spreads the weights, p = inf is the "
           "plain SVM of the sum. Hinge loss for classes and epsilon-insensitive loss for numbers, "
           "or squared hinge, logistic and square. Memory grows with the square of the rows; a run "
           "costs a few SVM solutions. With approximation=nystrom the kernels are of low rank, and "
           "memory and time grow with the rows. Source: Kloft, Brefeld, Sonnenburg, Zien: lp-norm "
           "multiple kernel learning. JMLR 12 (2011) 953-997.",
       .way_to_linear_memory = "lp_mkl with approximation=nystrom",
       .exact_options = {{"approximation", std::string("none")}},
       .regression = true},
      {.create = Create,
       .verify = Verify,
       .estimate_memory = EstimateMemory,
       .estimate_work = EstimateWork,
       .basis_rows = BasisRows});
}

}  // namespace mercer::lp_mkl
