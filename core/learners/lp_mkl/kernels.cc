#include "core/learners/lp_mkl/kernels.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/encoding/bytes.h"
#include "core/base/process/paced_check.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_source.h"
#include "core/kernels/lowrank/kernel_landmarks.h"
#include "core/kernels/spec/kernel_errors.h"
#include "core/linalg/row_products.h"
#include "core/objectives/lp_weights.h"
#include "core/training/contract/single_task.h"
#include "core/training/terms/basis.h"

namespace mercer::lp_mkl {
namespace {

// The number of sets of columns whose distances are not worth computing twice, square blocks
// included.
absl::StatusOr<Index> CountWideSources(const std::vector<KernelSpec>& kernels,
                                       const PreparedData& inputs, const RunContext& context) {
  const SourceFinder finder(inputs);
  std::set<std::string> keys;
  PacedCheck check(context);
  for (const KernelSpec& kernel : kernels) {
    MERCER_RETURN_IF_ERROR(check.After(kSourceWork));
    const absl::StatusOr<KernelSource> source = finder.Find(kernel);
    if (source.ok() && IsWorthStoring(*source)) {
      keys.insert(SourceKey(*source));
    }
  }
  return static_cast<Index>(keys.size());
}

// What may be left out of kernels that the landmarks represent badly, as a share of what these lose:
// a multiple of the tolerance, and a thousandth at most. Functions move by about the root of what is
// lost: by about 3 % of what the landmarks have moved them.
constexpr double kToleranceOfLost = 1e5;
constexpr double kMostOfLost = 1e-3;

// The rows that landmarks of all kernels together may be.
Index AllLandmarks(const LpMklOptions& options, Index rows, Index kernels) {
  const ByteCount all = ByteCount(options.landmarks) *
                        ByteCount(options.has_own_landmarks(rows) ? kernels : Index{1});
  return static_cast<Index>(std::min(all, ByteCount(rows)).value());
}

Index FeaturesOfKernel(const LpMklOptions& options, Index rows) {
  const Index landmarks = std::min<Index>(options.landmarks, rows);
  return options.rank > 0 ? std::min<Index>(options.rank, landmarks) : landmarks;
}

// The most columns that the joint basis may have, as far as that is known before a run.
Index MostColumns(const LpMklOptions& options, Index rows, Index kernels, Index wide_sources) {
  const ByteCount features = ByteCount(kernels) * ByteCount(FeaturesOfKernel(options, rows));
  constexpr size_t kMost = std::numeric_limits<Index>::max();
  // Features that can be told apart are no more than there are rows.
  const Index most = std::min(static_cast<Index>(std::min(features.value(), kMost)), rows);
  return LargestJointRank(most, AllLandmarks(options, rows, kernels), kernels, wide_sources,
                          options.compression_tolerance);
}

LowRankOptions LowRankOptionsOf(const LpMklOptions& options, uint64_t seed) {
  LowRankOptions low_rank;
  low_rank.nystrom.max_rank = options.rank;
  low_rank.nystrom.eigenvalue_threshold = options.eigenvalue_threshold;
  low_rank.basis.tolerance = options.compression_tolerance;
  low_rank.basis.tolerance_of_lost =
      std::min(kMostOfLost, kToleranceOfLost * options.compression_tolerance);
  low_rank.basis.seed = seed;
  return low_rank;
}

absl::StatusOr<Index> MostColumns(const LpMklOptions& options, const TrainingProblem& problem,
                                  const RunContext& context) {
  const TaskData& task = problem.tasks[0];
  MERCER_ASSIGN_OR_RETURN(const Index wide,
                          CountWideSources(problem.kernels, *task.inputs, context));
  return MostColumns(options, static_cast<Index>(task.rows.size()),
                     static_cast<Index>(problem.kernels.size()), wide);
}

absl::StatusOr<Landmarks> ChooseLandmarks(const LpMklOptions& options,
                                          const std::vector<KernelSpec>& kernels,
                                          const PreparedData& inputs, uint64_t seed,
                                          RunContext& context) {
  if (options.approximation == Approximation::kPivotedCholesky) {
    return PivotedLandmarks(inputs, kernels, FeaturesOfKernel(options, inputs.rows),
                            options.eigenvalue_threshold, context);
  }
  const auto select = options.own_landmarks ? SelectOwnLandmarks : SelectLandmarks;
  return select(inputs, kernels, options.landmark_selection, options.landmarks, seed, context);
}

absl::StatusOr<std::shared_ptr<const LpMklKernels>> MakeLowRank(const LpMklOptions& options,
                                                                const TrainingProblem& problem,
                                                                RunContext& context) {
  const TaskData& task = problem.tasks[0];
  const bool whole = static_cast<Index>(task.rows.size()) == task.inputs->rows;
  PreparedData selected;
  if (whole) {
    selected = *task.inputs;
  } else {
    MERCER_ASSIGN_OR_RETURN(selected, SelectRows(*task.inputs, task.rows, context));
  }
  LowRankOptions low_rank = LowRankOptionsOf(options, problem.seed);
  MERCER_ASSIGN_OR_RETURN(low_rank.basis.max_columns, MostColumns(options, problem, context));
  auto kernels = std::make_shared<LpMklKernels>();
  MERCER_ASSIGN_OR_RETURN(kernels->landmarks, ChooseLandmarks(options, problem.kernels, selected,
                                                              problem.seed, context));
  MERCER_ASSIGN_OR_RETURN(
      std::unique_ptr<LowRankKernelFamily> family,
      LowRankKernelFamily::Make(selected, kernels->landmarks, problem.kernels, low_rank, context));
  for (KernelLandmarks& own : kernels->landmarks.of_kernel) {
    own.map.reset();  // the family has of it what it needs
  }
  kernels->low_rank = family.get();
  kernels->family = std::move(family);
  return std::shared_ptr<const LpMklKernels>(std::move(kernels));
}

// Names all that the kernels of low rank are a function of; empty when the content of the inputs
// has no name.
std::string LowRankKey(const LpMklOptions& options, const TrainingProblem& problem) {
  const TaskData& task = problem.tasks[0];
  if (task.inputs->cache_key.empty()) {
    return "";
  }
  ByteWriter writer;
  writer.WriteString("lp_mkl kernels of low rank");
  writer.WriteString(task.inputs->cache_key);
  writer.WriteIndices(task.rows);
  WriteFields(problem.kernels, writer);
  writer.WriteUint64(problem.seed);
  writer.WriteUint8(static_cast<uint8_t>(options.approximation));
  writer.WriteInt64(options.landmarks);
  writer.WriteUint8(static_cast<uint8_t>(options.landmark_selection));
  writer.WriteBool(options.own_landmarks);
  writer.WriteInt64(options.rank);
  writer.WriteDouble(options.eigenvalue_threshold);
  writer.WriteDouble(options.compression_tolerance);
  return std::move(writer).Take();
}

LowRankShape ShapeOf(const LpMklOptions& options, Index rows, Index kernels, Index max_columns) {
  return {.rows = rows,
          .kernels = kernels,
          .landmarks = std::min<Index>(options.landmarks, rows),
          .all_landmarks = AllLandmarks(options, rows, kernels),
          .of_kernel = FeaturesOfKernel(options, rows),
          .max_columns = max_columns};
}

// How many rows of tables are in memory at a time: the sample of the joint basis, landmarks among
// it, or that of the landmarks, and landmarks of learner and verifier, which each kernel has copies
// of where they are its own.
ByteCount SampledRows(const LpMklOptions& options, const LowRankShape& shape) {
  const bool own = options.has_own_landmarks(shape.rows);
  const Index all = shape.all_landmarks;
  const Index sample = LandmarkSampleRows(options.landmark_selection, shape.rows, shape.landmarks);
  const ByteCount copies =
      ByteCount(shape.landmarks) * ByteCount(own ? 2 * shape.kernels : Index{0});
  return ByteCount(
             std::max(std::min(shape.rows, JointSampleRows(shape.max_columns) + all), sample)) +
         ByteCount(own ? 2 : 4) * ByteCount(all) + copies;
}

// Upper bound on what choosing landmarks by kernels takes at its peak. Factors of one kernel are
// made after the other; what each keeps is in the family's estimate.
ByteCount SelectionBytes(const LpMklOptions& options, const ProblemShape& shape) {
  if (!options.selects_by_kernels()) {
    return ByteCount(0);
  }
  const Index unit_diagonals = std::min(
      shape.unit_diagonals, options.has_own_landmarks(shape.rows) ? Index{1} : shape.kernels);
  if (options.approximation == Approximation::kPivotedCholesky) {
    return ByteCount(PivotBytes(shape.rows, FeaturesOfKernel(options, shape.rows), unit_diagonals));
  }
  return ByteCount(options.landmark_selection == LandmarkSelection::kLeverage
                       ? LeverageBytes(shape.rows, options.landmarks, unit_diagonals)
                       : PivotBytes(shape.rows, options.landmarks, unit_diagonals));
}

// Landmarks of `kernels` as a basis of a model; where they are rows, by their numbers and what the
// kernels read of them.
Basis BasisOf(const Landmarks& landmarks, const std::vector<KernelSpec>& kernels,
              const TrainingProblem& problem) {
  Basis basis;
  for (const Index row : landmarks.rows) {
    basis.training_rows.push_back(problem.tasks[0].rows[static_cast<size_t>(row)]);
  }
  std::vector<Index> all;
  for (Index i = 0; i < landmarks.data->rows; ++i) {
    all.push_back(i);
  }
  basis.data = SelectBasis(*landmarks.data, all, BlocksOfKernels(*landmarks.data, kernels));
  return basis;
}

absl::StatusOr<ModelFunction> FunctionOf(const LpMklKernels& kernels,
                                         const TrainingProblem& problem,
                                         const KernelCombination& combination,
                                         RunContext& context) {
  const auto& [weights, dual, bias] = combination;
  const TaskData& task = problem.tasks[0];
  if (kernels.low_rank == nullptr) {
    return MakeKernelFunction(*task.inputs, task.rows, problem.kernels,
                              weights.cwiseProduct(kernels.family->scales()), dual, bias);
  }
  MERCER_ASSIGN_OR_RETURN(const std::vector<Vector> coefficients,
                          kernels.low_rank->LandmarkCoefficients(weights, dual, context));
  const bool shared = kernels.landmarks.shared();
  ModelFunction function;
  function.bias = Vector::Constant(1, bias);
  if (shared) {
    function.bases.push_back(BasisOf(kernels.landmarks, problem.kernels, problem));
  }
  for (size_t k = 0; k < problem.kernels.size(); ++k) {
    const Vector& column = coefficients[k];
    if (column.isZero(0)) {
      continue;
    }
    KernelTerm term;
    if (!shared) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      term.basis = static_cast<int>(function.bases.size());
      function.bases.push_back(BasisOf(kernels.landmarks.Of(k), {problem.kernels[k]}, problem));
    }
    term.kernels = {problem.kernels[k]};
    term.outputs = {0};
    term.weights = Matrix::Ones(1, 1);
    term.coefficients = column.sparseView(0.0, 0.0);
    function.terms.push_back(std::make_shared<const KernelTerm>(std::move(term)));
  }
  return function;
}

}  // namespace

absl::Status CheckApproximation(const LpMklOptions& options,
                                const std::vector<KernelSpec>& kernels) {
  if (!options.is_low_rank()) {
    return absl::OkStatus();
  }
  FieldViolations violations;
  for (size_t k = 0; k < kernels.size(); ++k) {
    if (ReadsSquare(kernels[k])) {
      violations.Add("approximation", absl::StrCat("must be none: ", KernelText(k, kernels[k]),
                                                   " reads a square block; low rank is for kernels "
                                                   "of feature columns"));
      break;
    }
  }
  return violations.ToStatus();
}

uint64_t LandmarkVersion(const LpMklOptions& options) {
  return options.selects_by_kernels() ? 1 : 0;
}

absl::StatusOr<LpMklKernels> MakeLpMklKernels(const LpMklOptions& options,
                                              const TrainingProblem& problem, RunContext& context) {
  if (options.is_low_rank()) {
    const auto bytes = [&](const LpMklKernels& kernels) {
      const LowRankKernelFamily& family = *kernels.low_rank;
      return LowRankFamilyKeptBytes(
          ShapeOf(options, family.size(), family.num_kernels(), family.joint_rank()));
    };
    MERCER_ASSIGN_OR_RETURN(
        const std::shared_ptr<const LpMklKernels> kernels,
        context.cache().GetOrMake<LpMklKernels>(LowRankKey(options, problem), bytes, [&] {
          return MakeLowRank(options, problem, context);
        }));
    // Who holds the family holds what is in the cache.
    LpMklKernels shared = *kernels;
    shared.family = std::shared_ptr<const KernelFamily>(kernels, kernels->family.get());
    return shared;
  }
  LpMklKernels kernels;
  const TaskData& task = problem.tasks[0];
  MERCER_ASSIGN_OR_RETURN(kernels.family,
                          MakeExactKernelFamily(task.inputs, task.rows, problem.kernels, context));
  return kernels;
}

absl::StatusOr<TrainedPoint> MakeLpMklPoint(const LpMklKernels& kernels,
                                            const TrainingProblem& problem,
                                            const KernelCombination& combination,
                                            RunContext& context) {
  TrainedPoint point;
  MERCER_ASSIGN_OR_RETURN(point.function, FunctionOf(kernels, problem, combination, context));
  point.witness.tasks.push_back({combination.dual, Vector::Constant(1, combination.bias)});
  point.witness.arrays.emplace_back("weights", combination.weights);
  point.summary.SetKernels(problem.kernels);
  point.summary.kernel_weights = combination.weights;
  point.summary.num_support_vectors = (combination.dual.array() != 0).count();
  return point;
}

absl::StatusOr<TrainedPoint> MakeConstantLpMklPoint(const TrainingProblem& problem,
                                                    const LossView& view, double p,
                                                    const RunContext& context) {
  const Vector weights = UniformWeights(static_cast<Index>(problem.kernels.size()), p);
  const Vector zeros = Vector::Zero(view.targets.size());
  MERCER_ASSIGN_OR_RETURN(const BiasInterval bias,
                          view.loss.ExactBias(view.targets, view.costs, zeros, context));
  TrainedPoint point = MakeConstantPoint(problem, weights, bias.chosen);
  point.witness.arrays.emplace_back("weights", weights);
  return point;
}

ByteCount LowRankBytes(const LpMklOptions& options, const ProblemShape& shape) {
  const LowRankShape low_rank =
      ShapeOf(options, shape.rows, shape.kernels,
              MostColumns(options, shape.rows, shape.kernels, shape.sources));
  // Training rows that are not all rows are copied where the table is; samples and landmarks are in
  // memory, and so are the columns of theirs that kernels on some columns read.
  const ByteCount inputs =
      (ByteCount(shape.rows) * ByteCount(shape.columns - shape.columns_in_files) +
       SampledRows(options, low_rank) *
           (ByteCount(shape.columns) + ByteCount(shape.source_columns))) *
      ByteCount(sizeof(double));
  return ByteCount(LowRankFamilyKeptBytes(low_rank)) +
         std::max(ByteCount(LowRankFamilyBytes(low_rank)), SelectionBytes(options, shape)) +
         InnerSolverBytes(options.inner_solver, shape.rows, shape.kernels, low_rank.max_columns) +
         ByteCount(GramOfRowsBytes(shape.rows, low_rank.max_columns)) + inputs;
}

std::optional<Index> BasisRows(const LpMklOptions& options, const ProblemShape& shape) {
  if (!options.is_low_rank()) {
    return std::nullopt;
  }
  const ByteCount all = ByteCount(shape.outputs) *
                        ByteCount(std::min<Index>(options.landmarks, shape.rows)) *
                        ByteCount(options.has_own_landmarks(shape.rows) ? shape.kernels : Index{1});
  constexpr size_t kMost = std::numeric_limits<Index>::max();
  return static_cast<Index>(std::min(all.value(), kMost));
}

}  // namespace mercer::lp_mkl
