#include <algorithm>
#include <cmath>

#include "core/base/status/byte_count.h"
#include "core/base/status/status_macros.h"
#include "core/learners/ikl/ikl.h"
#include "core/learners/ikl/verify.h"
#include "core/solvers/svm/smo.h"
#include "core/training/contract/learner_entry.h"
#include "core/training/contract/single_task.h"

namespace mercer::ikl {
namespace {

constexpr Index kSearchKernels = 130;
// Of a run, for usual data and C >= 1; where C is smaller the boxes are nearly all that there is,
// and the first list lasts.
constexpr double kSvms = 20;
constexpr double kSearches = 4;
constexpr double kLeastShare = 0.25;
constexpr double kPasses = 5;  // of a search
// Each pass of a search needs the distances, but they are computed once when the cache keeps them,
// which cannot be known here: a number between the two, at most about four times too many or too
// few.
constexpr double kDistances = 6;

// Gaussian kernels on all columns.
ProblemShape ShapeOfKernels(const ProblemShape& shape, Index kernels) {
  ProblemShape of_kernels = shape;
  of_kernels.kernels = kernels;
  of_kernels.sources = shape.columns > kMaxRecomputedColumns ? 1 : 0;
  of_kernels.source_columns = shape.columns;
  return of_kernels;
}

// The kernels of the list with their combination, and those of a search or of the verifier beside
// them; columns of the solver, vectors.
size_t EstimateMemory(const IklOptions& /*options*/, const ProblemShape& shape) {
  constexpr size_t kVectors = 60;
  const ProblemShape of_kernels = ShapeOfKernels(shape, kSearchKernels);
  return (LearnerFamilyBytes(of_kernels) + VerifierFamilyBytes(of_kernels) +
          SmoColumnBytes(shape.rows, SmoOptions()) +
          ByteCount(shape.rows) * ByteCount(kVectors * sizeof(double)))
      .value();
}

LearnerWork EstimateWork(const IklOptions& options, const ProblemShape& shape) {
  const double pairs = CountPairs(shape);
  const auto columns = static_cast<double>(shape.columns);
  const double share = std::clamp(options.C, kLeastShare, 1.0);
  const double svms = kSvms * share;
  const double searches = kSearches * share;
  LearnerWork work;
  work.training[WorkKind::kProductColumns] = kDistances * pairs * columns;
  work.training[WorkKind::kKernelValues] = svms * 4 * pairs;
  work.training[WorkKind::kSearchValues] = searches * kPasses * 30 * pairs;
  work.training[WorkKind::kEntries] = svms * 4 * pairs;
  WorkCount smo = SmoWork(shape, options.C, 1.0);
  smo *= 3;
  work.training += smo;
  work.verification[WorkKind::kProductColumns] = pairs * columns;
  work.verification[WorkKind::kKernelValues] = 4 * pairs;
  work.verification[WorkKind::kSearchValues] = kSearchKernels * pairs;
  return work;
}

}  // namespace

LearnerEntry Entry() {
  return MakeEntry<IklOptions>(
      {.name = "ikl",
       .title = "Infinite kernel learning",
       .summary = "A support vector machine on the best combination of Gaussian kernels whose "
                  "bandwidths may be anywhere in an interval: bandwidths are found one by one, "
                  "each where the present machine gains most. Needs no list of kernels. The "
                  "certificate is about the kernels that were found; the metrics bound what others "
                  "could add. Memory grows with the square of the rows. Source: Gehler, Nowozin: "
                  "Infinite kernel learning. NIPS Workshop on Kernel Learning (2008).",
       .uses_kernels = false},
      {.create = Create,
       .verify = Verify,
       .estimate_memory = EstimateMemory,
       .estimate_work = EstimateWork});
}

}  // namespace mercer::ikl
