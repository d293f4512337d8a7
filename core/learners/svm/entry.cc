#include <algorithm>

#include "core/base/status/byte_count.h"
#include "core/base/status/status_macros.h"
#include "core/learners/svm/svm.h"
#include "core/learners/svm/verify.h"
#include "core/solvers/svm/smo.h"
#include "core/training/contract/learner_entry.h"
#include "core/training/contract/single_task.h"

namespace mercer::svm {
namespace {

// The learner's kernels, which stay for the verification and the next value, the verifier's, the
// columns in the solver's cache, and vectors.
size_t EstimateMemory(const SvmOptions& /*options*/, const ProblemShape& shape) {
  constexpr size_t kVectors = 60;
  return (LearnerFamilyBytes(shape) + VerifierFamilyBytes(shape) +
          SmoColumnBytes(shape.rows, SmoOptions()) +
          ByteCount(shape.rows) * ByteCount(kVectors * sizeof(double)))
      .value();
}

LearnerWork EstimateWork(const SvmOptions& options, const ProblemShape& shape) {
  LearnerWork work = SharedSumWork(shape);
  work.training += SmoWork(shape, options.C, static_cast<double>(shape.kernels));
  return work;
}

}  // namespace

LearnerEntry Entry() {
  return MakeEntry<SvmOptions>(
      {.name = "svm",
       .title = "Support vector machine",
       .summary = "Support vector classification and regression (C-SVC, epsilon-SVR) on a fixed "
                  "sum of kernels, by sequential minimal optimisation to a certified duality gap. "
                  "The baseline for everything that learns kernel weights. Memory grows with the "
                  "square of the rows. Source: Fan, Chen, Lin: Working set selection using second "
                  "order information for training SVM. JMLR 6 (2005) 1889-1918.",
       .regression = true},
      {.create = [](const SvmOptions& options) -> absl::StatusOr<std::unique_ptr<Learner>> {
         return MakeLearner(options);
       },
       .verify = Verify,
       .estimate_memory = EstimateMemory,
       .estimate_work = EstimateWork});
}

}  // namespace mercer::svm
