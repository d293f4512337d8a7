#include <algorithm>

#include "core/base/status_macros.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/learners/lp_mkl/verify.h"
#include "core/learners/lp_mkl/weight_step.h"

namespace mercer::lp_mkl {
namespace {

// Kernels with one combination, a Newton system of all rows, products of the free rows, and
// vectors.
size_t EstimateMemory(const ProblemShape& shape) {
  constexpr size_t kVectors = 60;
  const size_t rows = static_cast<size_t>(shape.rows);
  const size_t kernels = static_cast<size_t>(shape.kernels);
  const size_t model_columns = 2 * std::min(kernels, kMaxModelKernels) + kVectors;
  return ExactKernelFamilyBytes(shape.rows, shape.source_columns, shape.kernels, shape.sources) +
         sizeof(double) * (rows * rows + rows * model_columns + 8 * kernels);
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
