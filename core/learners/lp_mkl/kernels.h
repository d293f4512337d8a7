// The kernels of a problem as the options want them, and the functions that they span.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/base/status/byte_count.h"
#include "core/kernels/lowrank/landmarks.h"
#include "core/kernels/lowrank/low_rank_family.h"
#include "core/learners/lp_mkl/options.h"
#include "core/solvers/svm/curved_samples.h"
#include "core/training/contract/learner.h"

namespace mercer::lp_mkl {

struct LpMklKernels {
  std::shared_ptr<const KernelFamily> family;
  const LowRankKernelFamily* low_rank = nullptr;  // the family, when it is one of low rank
  Landmarks landmarks;                            // of a family of low rank
};

// Kernels of low rank read columns of features: a square block holds a value of every pair of rows,
// and has the memory already that they save. Errors: kInvalidArgument naming the field
// "approximation".
absl::Status CheckApproximation(const LpMklOptions& options,
                                const std::vector<KernelSpec>& kernels);

// What is added to the version of states that are in terms of factors of low rank: landmarks that
// are chosen by kernels were others before.
uint64_t LandmarkVersion(const LpMklOptions& options);

// Makes the kernels; the same ones for equal options, data and seed of the problem. Kernels of low
// rank are in the context's cache, where the other outputs of a run and its verifier find them, by
// their size or while the learner holds them. Errors: kInvalidArgument naming "kernels[k]", kCancelled.
absl::StatusOr<LpMklKernels> MakeLpMklKernels(const LpMklOptions& options,
                                              const TrainingProblem& problem, RunContext& context);

// The function sum_k weights(k) sum_i dual(i) K_k(x_i, .) + bias.
struct KernelCombination {
  const Vector& weights;
  const Vector& dual;
  double bias;
};

// The combination as a model, over support vectors or over landmarks, with its witness. Errors:
// kCancelled.
absl::StatusOr<TrainedPoint> MakeLpMklPoint(const LpMklKernels& kernels,
                                            const TrainingProblem& problem,
                                            const KernelCombination& combination,
                                            RunContext& context);

// The best constant function, with equal weights of the kernels.
absl::StatusOr<TrainedPoint> MakeConstantLpMklPoint(const TrainingProblem& problem,
                                                    const LossView& view, double p,
                                                    const RunContext& context);

// Upper bound on the bytes of the learner's kernels of low rank, of what its solver adds to them,
// and of the verifier's kernels, which it makes while there are the learner's where it does not find
// these. A sample of the rows to start from, which is gone by then, takes less.
ByteCount LowRankBytes(const LpMklOptions& options, const ProblemShape& shape);

// Upper bound on the rows that the bases of models of all outputs hold; none for exact kernels.
std::optional<Index> BasisRows(const LpMklOptions& options, const ProblemShape& shape);

}  // namespace mercer::lp_mkl
