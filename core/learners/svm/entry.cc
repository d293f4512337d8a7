#include <algorithm>

#include "core/base/byte_count.h"
#include "core/base/status_macros.h"
#include "core/learners/svm/svm.h"
#include "core/learners/svm/verify.h"
#include "core/training/single_task.h"

namespace mercer::svm {
namespace {

// Learner's and verifier's kernels, the columns in the solver's cache, and vectors.
size_t EstimateMemory(const ProblemShape& shape) {
  constexpr size_t kVectors = 60;
  return (LearnerFamilyBytes(shape) + VerifierFamilyBytes(shape) +
          SmoColumnBytes(shape.rows, SmoOptions()) +
          ByteCount(shape.rows) * ByteCount(kVectors * sizeof(double)))
      .value();
}

LearnerWork EstimateWork(const SvmOptions& options, const ProblemShape& shape) {
  LearnerWork work{KernelSumWork(shape), KernelSumWork(shape)};
  work.training += SmoWork(shape, options.C, static_cast<double>(shape.kernels));
  return work;
}

}  // namespace

LearnerEntry Entry() {
  LearnerEntry entry;
  entry.name = "svm";
  entry.title = "Support vector machine";
  entry.summary =
      "Support vector classification and regression (C-SVC, epsilon-SVR) on a fixed sum of "
      "kernels, by sequential minimal "
      "optimisation to a certified duality gap. The baseline for everything that learns kernel "
      "weights. Memory grows with the "
      "square of the rows. Source: Fan, Chen, Lin: Working set selection using second order "
      "information for training SVM. "
      "JMLR 6 (2005) 1889-1918.";
  entry.fields = SvmOptions::Fields().fields();
  entry.classification = true;
  entry.regression = true;
  entry.uses_kernels = true;
  entry.create = [](const OptionValues& values) -> absl::StatusOr<std::unique_ptr<Learner>> {
    MERCER_ASSIGN_OR_RETURN(const SvmOptions options, SvmOptions::Fields().Parse(values));
    return std::make_unique<SvmLearner>(options);
  };
  entry.verify = [](const OptionValues& values, const TrainingProblem& problem,
                    const Witness& witness, RunContext& context) -> absl::StatusOr<Verification> {
    MERCER_ASSIGN_OR_RETURN(const SvmOptions options, SvmOptions::Fields().Parse(values));
    return Verify(options, problem, witness, context);
  };
  entry.estimate_memory = [](const OptionValues& values,
                             const ProblemShape& shape) -> absl::StatusOr<size_t> {
    MERCER_RETURN_IF_ERROR(SvmOptions::Fields().Parse(values).status());
    return EstimateMemory(shape);
  };
  entry.estimate_work = [](const OptionValues& values,
                           const ProblemShape& shape) -> absl::StatusOr<LearnerWork> {
    MERCER_ASSIGN_OR_RETURN(const SvmOptions options, SvmOptions::Fields().Parse(values));
    return EstimateWork(options, shape);
  };
  return entry;
}

}  // namespace mercer::svm
