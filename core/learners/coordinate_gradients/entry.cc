#include <algorithm>

#include "core/base/status/byte_count.h"
#include "core/learners/coordinate_gradients/coordinate_gradients.h"
#include "core/learners/coordinate_gradients/tables.h"
#include "core/learners/coordinate_gradients/verify.h"
#include "core/objectives/cutting_plane_program.h"
#include "core/solvers/gradients/coordinate_planes.h"
#include "core/solvers/gradients/pair_system.h"
#include "core/training/contract/learner_entry.h"
#include "core/training/contract/single_task.h"

namespace mercer::coordinate_gradients {
namespace {

constexpr Index kUsualColumns = 60;       // in use at a time, with those that may come in
constexpr Index kMostComparedRows = 512;  // at which gradients of the model are verified

ByteCount CountPairs(const CoordinateGradientsOptions& options, const ProblemShape& shape) {
  const Index usual =
      options.pairs == PairChoice::kNeighbors ? kUsualNeighbors : kUsualGaussianNeighbors;
  const Index neighbors = options.neighbors > 0 ? options.neighbors : usual;
  const bool reversed = options.pairs == PairChoice::kNeighbors && options.symmetric;
  return ByteCount(shape.rows) *
         ByteCount(std::min<Index>((reversed ? 2 : 1) * neighbors, shape.rows));
}

// Of the matrix of functions with their own gradient: pairs, or rows of a linear kernel.
ByteCount OwnGradientOrder(const CoordinateGradientsOptions& options, const ProblemShape& shape) {
  return !options.own_gradient    ? ByteCount(0)
         : shape.disjoint_columns ? ByteCount(shape.rows)
                                  : CountPairs(options, shape);
}

// Those matrices of learner and verifier.
ByteCount OwnGradientBytes(const CoordinateGradientsOptions& options, const ProblemShape& shape) {
  constexpr Index kMatrices = 3;
  const ByteCount order = OwnGradientOrder(options, shape);
  return ByteCount(kMatrices) * order * order * ByteCount(sizeof(double));
}

// Of planes their values, with a copy while one comes in, and their duals, which are saved; the
// linear program.
ByteCount PlaneBytes(const CoordinateGradientsOptions& options, const ProblemShape& shape) {
  if (options.method != CoordinateMethod::kSilp || options.HasAllColumns()) {
    return ByteCount(0);
  }
  constexpr Index kCopiesOfValues = 2;
  constexpr Index kCopiesOfDuals = 5;
  constexpr Index kNumbersOfEntry = 5;
  const ByteCount pairs = CountPairs(options, shape);
  // Fewer pairs than are counted have more planes. A start has three at most, a step one more.
  const Index most = options.MostSteps() + 3;
  const Index planes = std::min(CoordinatePlanes::Most(shape.columns, 1), most);
  const Index long_planes =
      std::min(CoordinatePlanes::Most(shape.columns, static_cast<Index>(pairs.value())), most);
  return ByteCount(sizeof(double)) *
         (ByteCount(planes) *
              (ByteCount(kCopiesOfValues) * ByteCount(shape.columns) +
               ByteCount(kNumbersOfEntry) * ByteCount(std::min(shape.columns, kMostCorners))) +
          ByteCount(kCopiesOfDuals) * ByteCount(long_planes) * pairs);
}

// Kernels of learner and verifier; of both the columns, the kernel matrix and distances; vectors of
// pairs; Newton's system, and where it takes all pairs also that of the interior point; what
// predictions gain by the weights; the rows of an inner product.
size_t EstimateMemory(const CoordinateGradientsOptions& options, const ProblemShape& shape) {
  constexpr Index kVectorsOfPairs = 60;
  constexpr Index kPassColumns = 512;
  const ByteCount number(sizeof(double));
  const ByteCount rows(shape.rows);
  const ByteCount columns(shape.columns);
  const ByteCount pairs = CountPairs(options, shape);
  const bool all_factored = pairs < ByteCount(kMostFactoredPairs + 1);
  // Of the square loss all pairs move at once.
  const ByteCount factored = !all_factored && options.loss == LossWord::kSquare
                                 ? ByteCount(0)
                                 : std::min(pairs, ByteCount(kMostFactoredPairs));
  const ByteCount used(std::min(shape.columns, kUsualColumns));
  const ByteCount inner(std::min(shape.columns, shape.rows));
  const bool all_used = options.HasAllColumns();
  const ByteCount with_gradient = all_used ? columns : used;
  constexpr Index kCopiesOfGradient = 5;
  const ByteCount compared = ByteCount(shape.outputs) *
                             ByteCount(std::min<Index>(shape.rows, kMostComparedRows)) * columns;
  return (LearnerFamilyBytes(shape) + VerifierFamilyBytes(shape) +
          number * (rows * (ByteCount(4) * columns + ByteCount(kCopiesOfGradient) * with_gradient +
                            ByteCount(3) * rows + ByteCount(3) * inner +
                            ByteCount(2) * std::min(columns, ByteCount(kPassColumns))) +
                    pairs * (ByteCount(kVectorsOfPairs) + ByteCount(2) * used) +
                    ByteCount(all_factored ? 2 : 1) * factored * factored + compared) +
          OwnGradientBytes(options, shape) + PlaneBytes(options, shape) +
          ByteCount(4) * TableBytes(options, shape))
      .value();
}

LearnerWork EstimateWork(const CoordinateGradientsOptions& options, const ProblemShape& shape) {
  constexpr double kSystemsOfStep = 6;
  const double usual = options.method == CoordinateMethod::kSilp ? 120 : 15;
  const double steps =
      options.HasAllColumns() ? 1 : std::min(usual, static_cast<double>(options.MostSteps()));
  const auto rows = static_cast<double>(shape.rows);
  const auto columns = static_cast<double>(shape.columns);
  const auto pairs = static_cast<double>(CountPairs(options, shape).value());
  const double factored = std::min(pairs, static_cast<double>(kMostFactoredPairs));
  LearnerWork work{KernelSumWork(shape), KernelSumWork(shape)};
  work.training[WorkKind::kFactorOperations] +=
      steps * kSystemsOfStep * (factored * factored * factored / 3 + 4 * pairs * kUsualColumns);
  work.training[WorkKind::kProductColumns] += steps * rows * rows * columns;
  work.training[WorkKind::kEntries] += rows * rows * columns + steps * 4 * pairs * columns;
  work.verification[WorkKind::kEntries] += rows * rows * columns + 4 * pairs * columns;
  constexpr double kPasses = 20;  // of the matrix, where products solve its systems
  const auto order = static_cast<double>(OwnGradientOrder(options, shape).value());
  work.training[WorkKind::kEntries] += kPasses * order * order;
  work.verification[WorkKind::kEntries] += 2 * order * order;
  return work;
}

// Coefficients with their rows, and the dual variables of the witness.
size_t FeatureNumbers(const CoordinateGradientsOptions& options, const ProblemShape& shape) {
  const bool all_used = options.HasAllColumns();
  const ByteCount used = all_used ? ByteCount(shape.columns) : ByteCount(kUsualColumns);
  return (ByteCount(shape.outputs) *
          (ByteCount(2) * ByteCount(shape.rows) * std::min(ByteCount(shape.columns), used) +
           ByteCount(2) * CountPairs(options, shape)))
      .value();
}

size_t EstimateTables(const CoordinateGradientsOptions& options, const ProblemShape& shape) {
  return TableBytes(options, shape).value();
}

}  // namespace

LearnerEntry Entry() {
  return MakeEntry<CoordinateGradientsOptions, CoordinateGradientsLearner>(
      {.name = "coordinate_gradients",
       .title = "Gradient learning with weights of the columns",
       .summary =
           "Learns a function and its gradient from pairs of rows that are near each other, and "
           "with it which columns the target changes with, and how they vary together: a ranking "
           "of all columns, of which few have a weight. For tables of few rows and many columns, "
           "such as genes: take a linear kernel there, else a Gaussian. No bias. Memory grows with "
           "the square of the rows. Source: Ying, Wu, Campbell: Learning the coordinate gradients. "
           "Adv. Comput. Math. 37 (2012) 355-378.",
       .regression = true,
       .least_rows = 2,
       .witness_of_rows = false,
       .ranks_columns = true,
       .one_kernel = true},
      {.verify = Verify,
       .estimate_memory = EstimateMemory,
       .estimate_work = EstimateWork,
       .feature_numbers = FeatureNumbers,
       .table_bytes = EstimateTables});
}

}  // namespace mercer::coordinate_gradients
