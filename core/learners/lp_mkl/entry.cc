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

// Sizes of kernels of low rank, as far as they are known before.
struct LowRankSizes {
  double rows;
  double kernels;
  double landmarks;  // of a kernel
  double features;   // of all kernels
  double rank;       // of the joint basis
};

// The joint basis has most features of a few kernels; of many about 7 for each landmark at the usual
// tolerance, and in proportion to its digits.
LowRankSizes SizesOf(const LpMklOptions& options, const ProblemShape& shape) {
  const auto rows = static_cast<double>(shape.rows);
  const auto kernels = static_cast<double>(shape.kernels);
  const double landmarks = std::min(static_cast<double>(options.landmarks), rows);
  const double features =
      kernels *
      (options.rank > 0 ? std::min(landmarks, static_cast<double>(options.rank)) : landmarks);
  double rank = features;
  if (options.compression_tolerance > 0) {
    const double of_landmark = std::max(3.5, -0.875 * std::log10(options.compression_tolerance));
    const double sets = options.has_own_landmarks(shape.rows) ? std::sqrt(kernels) : 1.0;
    const double most = of_landmark * landmarks * sets;
    rank = features * (most / std::hypot(features, most));
  }
  return {rows, kernels, landmarks, features, rank};
}

// Factors of all rows on a joint basis: the basis is found on a sample.
WorkCount FactorWork(const LpMklOptions& options, const ProblemShape& shape,
                     const LowRankSizes& sizes) {
  constexpr double kProbes = 8;  // of what the basis leaves out
  const auto& [rows, kernels, landmarks, features, rank] = sizes;
  const bool own = options.has_own_landmarks(shape.rows);
  const double all_landmarks = std::min(own ? kernels * landmarks : landmarks, rows);
  const double sampled = std::min(
      rows, static_cast<double>(JointSampleRows(static_cast<Index>(rank))) + all_landmarks);
  WorkCount work = shape.pair_columns;
  work *= rows * (own ? all_landmarks : landmarks);
  work[WorkKind::kKernelValues] = rows * landmarks * kernels;
  work[WorkKind::kFactorOperations] = 2 * rows * landmarks * (rank + kProbes * kernels) +
                                      2 * sampled * features * (rank + landmarks) +
                                      features * rank * rank;
  if (options.selects_by_kernels()) {
    // Two passes over all rows, or a column for each pivot; the mean kernel or each one.
    const bool leverage = options.approximation == Approximation::kNystrom &&
                          options.landmark_selection == LandmarkSelection::kLeverage;
    work[WorkKind::kKernelValues] += (leverage ? 2 : 1) * rows * landmarks * kernels;
    work[WorkKind::kFactorOperations] +=
        (leverage ? 2 : 4) * rows * landmarks * landmarks * (own ? kernels : 1);
  }
  return work;
}

// The operations of a Newton system of factor_svm.h: of the features, whose Gram matrix follows
// from what has changed of the free samples, or of these where they are fewer.
double NewtonOperations(const LowRankSizes& sizes, double support_share) {
  // 0.1 to 0.2 of the rows of two classes are free, in the mean over all steps.
  constexpr double kFreeShare = 0.15;
  constexpr double kChanged = 0.6;  // of them come or go in a step
  constexpr double kPasses = 4;     // over all factors
  const double rank = sizes.rank;
  const double free = kFreeShare * support_share * sizes.rows;
  const double of_features = rank * rank * (rank / 3 + kChanged * (rank + free));
  const double of_samples = free * (rank * rank + free * rank + free * free / 3);
  return std::min(of_features, of_samples) + 2 * kPasses * sizes.rows * rank;
}

// The factors, which the outputs of a run and its verifier have in common, and the Newton systems of
// the machines on them.
LearnerWork EstimateLowRankWork(const LpMklOptions& options, const ProblemShape& shape) {
  // Of all machines of an output together: 14 to 33 at C = 1 (docs/results/estimates.md), 30 to 63 at
  // C = 100.
  constexpr double kNewtonSystems = 22;
  constexpr double kMoreForDigit = 0.5;
  const LowRankSizes sizes = SizesOf(options, shape);
  const auto& [rows, kernels, landmarks, features, rank] = sizes;
  LearnerWork work;
  work.shared = FactorWork(options, shape, sizes);
  work.shared_bytes = rows * rank * sizeof(float);
  work.verification[WorkKind::kFactorOperations] = 4 * rows * rank;
  if (options.exact_certificate) {
    work.verification += KernelSumWork(shape);
  }
  const double svms = CountSvms(options, shape);
  double systems = kNewtonSystems * (1 + kMoreForDigit * std::max(0.0, std::log10(options.C)));
  double of_system = NewtonOperations(sizes, SupportShare(shape));
  if (IsCurved(options.loss)) {
    // The Hessian of the weights is a system more for every SVM; all rows are in the systems.
    systems = CountCurvedSystems(options.loss, options.C, svms) + svms;
    of_system = rank * rank * (rows + 2.4 * rank) + 8 * rows * rank;
  }
  // A training combines the kernels for every SVM.
  work.training[WorkKind::kFactorOperations] =
      svms * rank * rank * (features + rank) + systems * of_system;
  if (options.outer_loop == OuterLoopChoice::kInterleaved) {
    work.training[WorkKind::kFactorOperations] += systems * 2 * features * rank * rank;
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
  const double models = newton ? std::max(0.0, svms - 3) : 0.0;
  const double passes = svms * 1.6 + 0.4 * models;
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
  // Each model of the weights is a system of the free samples: 0.4 of the rows of two classes with ten
  // bandwidths at p = 2, 0.8 where narrow kernels win.
  constexpr double kFreeShare = 0.5;
  const double free = kFreeShare * SupportShare(shape) * static_cast<double>(shape.rows);
  work.training[WorkKind::kFactorOperations] += models * free * free * (free / 3 + 2 * kernels);
  work.training[WorkKind::kEntries] += models * free * free;
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
