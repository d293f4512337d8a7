#include <algorithm>
#include <cmath>

#include "core/base/status/byte_count.h"
#include "core/learners/mixed_norm_mkl/mixed_norm_mkl.h"
#include "core/learners/mixed_norm_mkl/tables.h"
#include "core/learners/mixed_norm_mkl/verify.h"
#include "core/solvers/mkl/machines.h"
#include "core/training/contract/learner_entry.h"
#include "core/training/contract/loss_choice.h"
#include "core/training/contract/single_task.h"

namespace mercer::mixed_norm_mkl {
namespace {

// Rows, pairs of rows and triples of all machines of one run, in those of a machine of all rows.
struct MachineSums {
  double rows = 1;
  double pairs = 1;
  double triples = 1;
};

// The machine of the classes a and b has the shares s_a + s_b of the rows. The sums over a < b of
// their powers follow from those of the squares and the cubes of the shares, which add up to 1.
MachineSums SumsOfMachines(const MixedNormMklOptions& options, const ProblemShape& shape) {
  if (!options.shared_weights || shape.outputs == 1) {
    return {};
  }
  if (shape.rows_of_classes.empty()) {
    const auto all = static_cast<double>(shape.outputs);
    return {all, all, all};
  }
  double total = 0;
  for (const Index rows : shape.rows_of_classes) {
    total += static_cast<double>(rows);
  }
  double squares = 0;
  double cubes = 0;
  for (const Index rows : shape.rows_of_classes) {
    const double share = static_cast<double>(rows) / std::max(total, 1.0);
    squares += share * share;
    cubes += share * share * share;
  }
  const auto classes = static_cast<double>(shape.rows_of_classes.size());
  return {classes - 1, (classes - 2) * squares + 1, (classes - 4) * cubes + 3 * squares};
}

// One run has one set of tables.
size_t EstimateTables(const MixedNormMklOptions& options, const ProblemShape& shape) {
  ProblemShape of_run = shape;
  of_run.outputs = options.shared_weights ? 1 : shape.outputs;
  return TableBytes(of_run).value();
}

// A Newton system of all rows or SMO's columns; of several machines those of each, which no cache
// bounds while they are small.
ByteCount MachinesBytes(const MixedNormMklOptions& options, const ProblemShape& shape) {
  const double pairs = SumsOfMachines(options, shape).pairs;
  if (pairs == 1) {
    return MachineBytes(options.loss, shape);
  }
  const double of_pair = IsCurved(options.loss) ? sizeof(double) : 2 * sizeof(double);
  return ByteCount(shape.rows) * ByteCount(shape.rows) *
         ByteCount(static_cast<size_t>(std::ceil(of_pair * pairs)));
}

bool IsSecondOrder(Method method) {
  return method == Method::kAuto || method == Method::kNewton || method == Method::kInteriorPoint;
}

// Whether the run may have the joint interior point. Whether kernels are in groups, and the losses
// of numbers, the shape does not tell.
bool MayBeJoint(const MixedNormMklOptions& options, const ProblemShape& shape) {
  const bool hinge = options.loss == LossChoice::kAuto || options.loss == LossChoice::kHinge;
  if (!hinge || options.regularization == Regularization::kSum || shape.kernels == 1 ||
      (options.shared_weights && shape.outputs > 1)) {
    return false;
  }
  return options.method == Method::kInteriorPoint ||
         (options.method == Method::kAuto && shape.kernels > kManyOfGroup &&
          shape.rows <= kMostJointRows);
}

// About the most kernels that work at a time; in the mean they are a quarter.
double WorkingKernels(const ProblemShape& shape) {
  return std::min(static_cast<double>(shape.kernels), 2 * static_cast<double>(shape.rows));
}

// Learner's and verifier's kernels, machines, products of the free rows, vectors, energies of all
// machines, the point at all rows and outputs, and the tables with copies.
size_t EstimateMemory(const MixedNormMklOptions& options, const ProblemShape& shape) {
  constexpr size_t kVectors = 60;
  constexpr size_t kMatricesOfPoint = 6;
  constexpr size_t kEnergies = 4;
  const ByteCount rows(shape.rows);
  const ByteCount kernels(shape.kernels);
  const ByteCount number(sizeof(double));
  const auto of_row = static_cast<size_t>(std::ceil(SumsOfMachines(options, shape).rows));
  const ByteCount outputs(options.shared_weights && shape.outputs > 1 ? shape.outputs : 0);
  const ByteCount of_model = std::min(kernels, ByteCount(kMaxModelKernels));
  // Products are those of some machines at a time.
  const ByteCount columns = ByteCount(3) * of_model * ByteCount(std::min(of_row, kHessiansAtOnce)) +
                            ByteCount(kVectors) * ByteCount(of_row) +
                            ByteCount(kMatricesOfPoint) * outputs;
  ByteCount joint(0);
  if (MayBeJoint(options, shape)) {
    const ByteCount working(static_cast<size_t>(WorkingKernels(shape)));
    joint = (ByteCount(3) * working + ByteCount(2) * rows) * rows +
            ByteCount(2) * working * (working + ByteCount(2 * kMostJointGroups));
  }
  const ByteCount model = joint + ByteCount(16) * of_model * of_model +
                          kernels * (ByteCount(20) + ByteCount(kEnergies) * outputs);
  return (LearnerFamilyBytes(shape) + VerifierFamilyBytes(shape) + MachinesBytes(options, shape) +
          number * (rows * columns + model) +
          ByteCount(4) * ByteCount(EstimateTables(options, shape)))
      .value();
}

// About 40 iterations, each with a combination and the products of the working kernels, and passes
// over all kernels.
WorkCount JointWork(const ProblemShape& shape) {
  constexpr double kIterations = 40;
  constexpr double kPasses = 15;
  const auto rows = static_cast<double>(shape.rows);
  const double blocks = 0.25 * WorkingKernels(shape);
  WorkCount work;
  work[WorkKind::kKernelValues] =
      2 * kIterations * CountPassValues(shape, blocks) +
      kPasses * CountPassValues(shape, static_cast<double>(shape.kernels));
  work[WorkKind::kFactorOperations] =
      kIterations * (rows * (rows * (2 * blocks + rows / 3) + 2 * blocks * blocks) +
                     blocks * blocks * blocks / 3);
  return work;
}

// SVMs of a run to 1e-3 with grouped Gaussian kernels: more of kernels that share their distance
// with others and have many such others beside them (tests/bench/mixed_norm_bench: 12 and 7 of 200
// kernels with a distance each, 8 of 6 distances, 18 of 30, 44 of 50, 43 of 100). With groups it is
// fewer, which the shape does not tell.
double CountSvms(const MixedNormMklOptions& options, const ProblemShape& shape, double distances) {
  if (options.regularization == Regularization::kSum || shape.kernels == 1) {
    return 1;
  }
  constexpr double kMostOfNewton = 200;
  constexpr double kMost = 2000;
  const double crowded = std::max(distances - static_cast<double>(shape.lone_kernels), 0.0);
  const double newton = 4 + std::log2(static_cast<double>(shape.kernels)) + 4 * std::sqrt(crowded);
  const bool first_order = !IsSecondOrder(options.method);
  const double factor = first_order ? (options.method == Method::kClosedForm ? 10 : 25) : 1;
  const double most = options.max_svm_solves > 0 ? static_cast<double>(options.max_svm_solves)
                      : first_order              ? kMost
                                                 : kMostOfNewton;
  return std::min(factor * newton, most);
}

LearnerWork EstimateWork(const MixedNormMklOptions& options, const ProblemShape& shape) {
  // The verifier has the energies of two duals, and the values of a function.
  constexpr double kPassesOfVerifier = 2.5;
  // What reading a distance costs beside the values of its kernels, unless it is the only one and
  // stays in the processor's cache.
  constexpr double kValuesOfDistance = 2.5;
  const double kernels = static_cast<double>(shape.kernels);
  const double distances = static_cast<double>(shape.sources + shape.recomputed_sources);
  const MachineSums machines = SumsOfMachines(options, shape);
  LearnerWork work{WorkCount(), KernelSumWork(shape)};
  work.verification[WorkKind::kKernelValues] *= kPassesOfVerifier * machines.pairs;
  work.verification[WorkKind::kEntries] = 0;  // its products form no matrix
  const bool joint = MayBeJoint(options, shape);
  // With several groups Newton's steps may come first.
  const double svms =
      options.method == Method::kInteriorPoint && joint ? 3 : CountSvms(options, shape, distances);
  // A combination of few kernels, and the energies of all on the support vectors of each machine.
  const double passes = 1.3 * svms * SupportShare(shape);
  const double values = passes * machines.pairs * CountPassValues(shape, kernels);
  const double lone = static_cast<double>(shape.lone_kernels) / std::max(kernels, 1.0);
  work.training[WorkKind::kSearchValues] = values * (1 - lone);
  // Distances are read in whole rows, of which a machine needs its columns.
  work.training[WorkKind::kKernelValues] =
      values * lone +
      passes * kValuesOfDistance * CountPairs(shape) * std::max(distances * machines.rows - 1, 0.0);
  work.training[WorkKind::kEntries] = svms * 2 * CountPairs(shape);
  if (IsCurved(options.loss)) {
    const bool hessians = IsSecondOrder(options.method) && svms > 1;
    WorkCount curved =
        CurvedWork(shape, CountCurvedSystems(options.loss, options.C, svms), hessians ? svms : 0);
    curved[WorkKind::kFactorOperations] *= machines.triples;
    curved[WorkKind::kEntries] *= machines.pairs;
    curved[WorkKind::kReads] *= machines.pairs;
    work.training += curved;
  } else {
    // Comparable costs are in units of the first kernel, so that its scale is 1.
    const bool plain_sum =
        options.regularization == Regularization::kSum && options.cost_scale == CostScale::kPlain;
    WorkCount smo = SmoWork(shape, options.C, plain_sum ? kernels : 1.0);
    smo[WorkKind::kPairSteps] *= svms > 1 ? 2 : 1;
    smo[WorkKind::kEntries] *= svms;
    smo[WorkKind::kReads] *= svms;
    smo *= machines.pairs;
    work.training += smo;
  }
  if (joint) {
    work.training += JointWork(shape);
  }
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
