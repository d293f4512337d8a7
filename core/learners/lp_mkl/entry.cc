#include <algorithm>

#include "core/base/byte_count.h"
#include "core/base/status_macros.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/learners/lp_mkl/verify.h"
#include "core/learners/lp_mkl/weight_step.h"
#include "core/training/single_task.h"

namespace mercer::lp_mkl {
namespace {

// Learner's and verifier's kernels, a Newton system of all rows or SMO's columns, products of the
// free rows, and vectors.
size_t EstimateMemory(const ProblemShape& shape) {
  constexpr size_t kVectors = 60;
  const ByteCount rows(shape.rows);
  const ByteCount kernels(shape.kernels);
  const ByteCount number(sizeof(double));
  const ByteCount inner_solver =
      std::max(rows * rows * number, SmoColumnBytes(shape.rows, SmoOptions()));
  const ByteCount model_columns =
      ByteCount(2) * std::min(kernels, ByteCount(kMaxModelKernels)) + ByteCount(kVectors);
  return (LearnerFamilyBytes(shape) + VerifierFamilyBytes(shape) + inner_solver +
          number * (rows * model_columns + ByteCount(8) * kernels))
      .value();
}

}  // namespace

LearnerEntry Entry() {
  LearnerEntry entry;
  entry.name = "lp_mkl";
  entry.title = "lp-norm multiple kernel learning";
  entry.summary =
      "Learns a support vector machine together with non-negative weights of its kernels, "
      "|weights|_p <= 1. p = 1 selects few "
      "kernels, p = 2 spreads the weights, p = inf is the plain SVM of the sum. Hinge loss for "
      "classes, epsilon-insensitive loss "
      "for numbers. Memory grows with the square of the rows; a run costs a few SVM solutions. "
      "Source: Kloft, Brefeld, "
      "Sonnenburg, Zien: lp-norm multiple kernel learning. JMLR 12 (2011) 953-997.";
  entry.fields = LpMklOptions::Fields().fields();
  entry.classification = true;
  entry.regression = true;
  entry.uses_kernels = true;
  entry.create = [](const OptionValues& values) -> absl::StatusOr<std::unique_ptr<Learner>> {
    MERCER_ASSIGN_OR_RETURN(const LpMklOptions options, LpMklOptions::Fields().Parse(values));
    return std::make_unique<LpMklLearner>(options);
  };
  entry.verify = [](const OptionValues& values, const TrainingProblem& problem,
                    const Witness& witness, RunContext& context) -> absl::StatusOr<Verification> {
    MERCER_ASSIGN_OR_RETURN(const LpMklOptions options, LpMklOptions::Fields().Parse(values));
    return Verify(options, problem, witness, context);
  };
  entry.estimate_memory = [](const OptionValues& values,
                             const ProblemShape& shape) -> absl::StatusOr<size_t> {
    MERCER_RETURN_IF_ERROR(LpMklOptions::Fields().Parse(values).status());
    return EstimateMemory(shape);
  };
  return entry;
}

}  // namespace mercer::lp_mkl
