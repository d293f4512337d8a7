#include <algorithm>
#include <cmath>

#include "core/base/status/byte_count.h"
#include "core/learners/mixed_norm_mkl/mixed_norm_mkl.h"
#include "core/learners/mixed_norm_mkl/tables.h"
#include "core/learners/mixed_norm_mkl/verify.h"
#include "core/training/contract/learner_entry.h"
#include "core/training/contract/loss_choice.h"
#include "core/training/contract/single_task.h"

namespace mercer::mixed_norm_mkl {
namespace {

// How many machines of all rows are as large as all machines of one run together. Of one for each
// pair of classes every row is in one less than there are classes.
Index LargeMachines(const MixedNormMklOptions& options, const ProblemShape& shape) {
  if (!options.shared_weights || shape.outputs == 1) {
    return 1;
  }
  if (shape.classes_against_rest > 1) {
    return shape.outputs;
  }
  return static_cast<Index>(std::ceil(std::sqrt(2.0 * static_cast<double>(shape.outputs))));
}

// One run has one set of tables.
size_t EstimateTables(const MixedNormMklOptions& options, const ProblemShape& shape) {
  ProblemShape of_run = shape;
  of_run.outputs = options.shared_weights ? 1 : shape.outputs;
  return TableBytes(of_run).value();
}

// Learner's and verifier's kernels, a Newton system of all rows or SMO's columns, products of the
// free rows, vectors, and the tables with copies.
size_t EstimateMemory(const MixedNormMklOptions& options, const ProblemShape& shape) {
  constexpr size_t kVectors = 60;
  const ByteCount rows(shape.rows);
  const ByteCount kernels(shape.kernels);
  const ByteCount number(sizeof(double));
  // Of several machines at once the columns of each, and the vectors of its samples.
  const ByteCount machines(LargeMachines(options, shape));
  const ByteCount of_model = std::min(kernels, ByteCount(kMaxModelKernels));
  const ByteCount columns = ByteCount(3) * of_model + ByteCount(kVectors);
  const ByteCount model = ByteCount(16) * of_model * of_model + ByteCount(20) * kernels;
  return (LearnerFamilyBytes(shape) + VerifierFamilyBytes(shape) +
          MachineBytes(options.loss, shape) * machines +
          number * (rows * columns * machines + model) +
          ByteCount(4) * ByteCount(EstimateTables(options, shape)))
      .value();
}

// SVMs of a run to 1e-3 with grouped Gaussian kernels.
double CountSvms(const MixedNormMklOptions& options, const ProblemShape& shape) {
  if (options.regularization == Regularization::kSum || shape.kernels == 1) {
    return 1;
  }
  const double newton = 4 + 2 * std::log2(static_cast<double>(shape.kernels));
  const bool second_order = options.method == Method::kAuto || options.method == Method::kNewton ||
                            options.method == Method::kInteriorPoint;
  return second_order ? newton : 5 * newton;
}

LearnerWork EstimateWork(const MixedNormMklOptions& options, const ProblemShape& shape) {
  const double kernels = static_cast<double>(shape.kernels);
  LearnerWork work{WorkCount(), KernelSumWork(shape)};
  work.verification[WorkKind::kEntries] = 0;  // its products form no matrix
  work.training[WorkKind::kFamilies] = 1;
  const double svms = CountSvms(options, shape);
  // A combination of few kernels, and the energies of all on the support vectors.
  const double values = 1.3 * svms * CountPassValues(shape, kernels) * SupportShare(shape);
  const double lone = static_cast<double>(shape.lone_kernels) / std::max(kernels, 1.0);
  work.training[WorkKind::kSearchValues] = values * (1 - lone);
  work.training[WorkKind::kKernelValues] = values * lone;
  work.training[WorkKind::kEntries] = svms * 2 * CountPairs(shape);
  if (IsCurved(options.loss)) {
    const bool hessians =
        (options.method == Method::kAuto || options.method == Method::kNewton) && svms > 1;
    work.training +=
        CurvedWork(shape, CountCurvedSystems(options.loss, options.C, svms), hessians ? svms : 0);
  } else {
    // Comparable costs are in units of the first kernel, so that its scale is 1.
    const bool plain_sum =
        options.regularization == Regularization::kSum && options.cost_scale == CostScale::kPlain;
    WorkCount smo = SmoWork(shape, options.C, plain_sum ? kernels : 1.0);
    smo[WorkKind::kPairSteps] *= svms > 1 ? 2 : 1;
    smo[WorkKind::kEntries] *= svms;
    work.training += smo;
  }
  const auto machines = static_cast<double>(LargeMachines(options, shape));
  work.training *= machines;
  work.verification *= machines;
  work.training[WorkKind::kFamilies] = 1;
  return work;
}

bool SharesOutputs(const MixedNormMklOptions& options) { return options.shared_weights; }

}  // namespace

LearnerEntry Entry() {
  return MakeEntry<MixedNormMklOptions, MixedNormMklLearner>(
      {.name = "mixed_norm_mkl",
       .title = "Mixed-norm multiple kernel learning",
       .summary =
           "Learns a support vector machine together with weights of kernels that come in groups: "
           "descriptors of images with several bandwidths each, for example. Every group is used, "
           "each with the same norm, and few kernels of each group are. With one group, or "
           "regularization=l1, it is SimpleMKL's problem; with regularization=sum the plain SVM of "
           "the sum. Hinge loss for classes and epsilon-insensitive loss for numbers, or squared "
           "hinge, logistic and square. Memory grows with the square of the rows; a run costs 5 to "
           "30 SVM solutions. "
           "Source: Nath, Dinesh, Raman, Bhattacharyya, Ben-Tal, Ramakrishnan: On the algorithmics "
           "and applications of a mixed-norm based kernel learning formulation. NIPS 22 (2009) "
           "844-852.",
       .regression = true,
       .kernel_groups = true},
      {.verify = Verify,
       .estimate_memory = EstimateMemory,
       .estimate_work = EstimateWork,
       .table_bytes = EstimateTables,
       .shares_outputs = SharesOutputs});
}

}  // namespace mercer::mixed_norm_mkl
