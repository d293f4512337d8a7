#include "core/kernels/lowrank/landmarks.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/numeric/index_range.h"
#include "core/base/numeric/random.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/lowrank/kernel_landmarks.h"
#include "core/kernels/spec/pair_values.h"
#include "core/linalg/vector_math.h"

namespace mercer {
namespace {

constexpr Index kRowsPerCentre = 50;
constexpr int kLloydSteps = 10;
constexpr Index kRowsPerTask = 64;

// All feature columns of some rows side by side.
RowMatrix GatherColumns(const PreparedData& inputs, const std::vector<Index>& rows) {
  Index columns = 0;
  for (const PreparedBlock& block : inputs.blocks) {
    columns += block.values.cols();
  }
  RowMatrix gathered(static_cast<Index>(rows.size()), columns);
  for (size_t i = 0; i < rows.size(); ++i) {
    Index column = 0;
    for (const PreparedBlock& block : inputs.blocks) {
      const Index width = block.values.cols();
      gathered.row(static_cast<Index>(i)).segment(column, width) = block.values.view().row(rows[i]);
      column += width;
    }
  }
  return gathered;
}

// The centre nearest to each row; of equally near ones the first.
std::vector<Index> NearestCentres(const RowMatrix& rows, const RowMatrix& centres,
                                  RunContext& context) {
  std::vector<Index> nearest(static_cast<size_t>(rows.rows()));
  const Index stride = PaddedLength(centres.rows());
  context.parallel().ForBlocks(rows.rows(), kRowsPerTask, [&](Index begin, Index end) {
    std::vector<double> distances(static_cast<size_t>((end - begin) * stride));
    ComputePairValues(PairValue::kSquaredDistance, rows.middleRows(begin, end - begin), centres,
                      distances.data(), stride, context);
    for (Index i = begin; i < end; ++i) {
      const double* of_row = distances.data() + (i - begin) * stride;
      nearest[static_cast<size_t>(i)] = std::min_element(of_row, of_row + centres.rows()) - of_row;
    }
  });
  return nearest;
}

// Moves each centre to the mean of the rows nearest to it; a centre without rows stays where it is.
void MoveCentres(const RowMatrix& rows, const std::vector<Index>& nearest, RowMatrix& centres) {
  RowMatrix sums = RowMatrix::Zero(centres.rows(), centres.cols());
  Vector counts = Vector::Zero(centres.rows());
  for (Index i = 0; i < rows.rows(); ++i) {
    const Index centre = nearest[static_cast<size_t>(i)];
    sums.row(centre) += rows.row(i);
    counts(centre) += 1;
  }
  for (Index c = 0; c < centres.rows(); ++c) {
    if (counts(c) > 0) {
      centres.row(c) = sums.row(c) / counts(c);
    }
  }
}

// The points as rows with the blocks of `inputs`.
std::shared_ptr<const PreparedData> PointsOf(const PreparedData& inputs, const RowMatrix& points) {
  auto data = std::make_shared<PreparedData>();
  data->rows = points.rows();
  Index column = 0;
  for (const PreparedBlock& block : inputs.blocks) {
    const Index width = block.values.cols();
    data->blocks.push_back(
        {block.name, block.sources, SharedMatrix(RowMatrix(points.middleCols(column, width)))});
    column += width;
  }
  return data;
}

// Centres of k-means from the rows `start`.
absl::StatusOr<Landmarks> Centres(const PreparedData& inputs, const std::vector<Index>& start,
                                  uint64_t seed, RunContext& context) {
  const auto count = static_cast<Index>(start.size());
  const RowMatrix sample = GatherColumns(
      inputs,
      DrawRows(inputs.rows, std::min(inputs.rows, kRowsPerCentre * count), seed, "k-means"));
  RowMatrix centres = GatherColumns(inputs, start);
  for (int step = 0; step < kLloydSteps; ++step) {
    context.ReportStage("landmarks", static_cast<double>(step) / kLloydSteps);
    const std::vector<Index> nearest = NearestCentres(sample, centres, context);
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    MoveCentres(sample, nearest, centres);
  }
  return Landmarks{PointsOf(inputs, centres), {}, {}};
}

// Whether the kernels fit the inputs, each by its number: where they are looked at one by one,
// errors would number them anew.
absl::Status CheckKernels(const PreparedData& inputs, const std::vector<KernelSpec>& kernels,
                          RunContext& context) {
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return MeanKernel::Make(SelectRows(inputs, {0}), kernels, context).status();
}

// The landmarks of kernels that have the rows `rows`, each in its own order.
Landmarks UnionOf(const PreparedData& inputs, const std::vector<std::vector<Index>>& rows) {
  std::vector<Index> all;
  for (const std::vector<Index>& of_kernel : rows) {
    all.insert(all.end(), of_kernel.begin(), of_kernel.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  Landmarks landmarks = LandmarksFromRows(inputs, std::move(all));
  for (const std::vector<Index>& of_kernel : rows) {
    KernelLandmarks& own = landmarks.of_kernel.emplace_back();
    for (const Index row : of_kernel) {
      own.places.push_back(std::lower_bound(landmarks.rows.begin(), landmarks.rows.end(), row) -
                           landmarks.rows.begin());
    }
  }
  return landmarks;
}

}  // namespace

std::vector<Index> DrawRows(Index size, Index count, uint64_t seed, std::string_view purpose) {
  std::vector<Index> rows = IndexRange(0, size);
  if (count >= size) {
    return rows;
  }
  RandomStream random(seed, purpose);
  for (Index i = 0; i < count; ++i) {
    const auto other = i + static_cast<Index>(random.Below(static_cast<uint64_t>(size - i)));
    std::swap(rows[static_cast<size_t>(i)], rows[static_cast<size_t>(other)]);
  }
  rows.resize(static_cast<size_t>(count));
  std::sort(rows.begin(), rows.end());
  return rows;
}

Index LandmarkSampleRows(LandmarkSelection selection, Index rows, Index count) {
  switch (selection) {
    case LandmarkSelection::kUniform:
      return 0;
    case LandmarkSelection::kKMeans:
      return std::min(rows, kRowsPerCentre * count) + count;
    case LandmarkSelection::kLeverage:
    case LandmarkSelection::kPivotedCholesky:
      return count;
  }
  return rows;
}

Landmarks Landmarks::Of(size_t k) const {
  if (shared()) {
    return *this;
  }
  const std::vector<Index>& places = of_kernel[k].places;
  Landmarks own{std::make_shared<PreparedData>(SelectRows(*data, places)), {}, {}};
  for (const Index place : places) {
    own.rows.push_back(rows[static_cast<size_t>(place)]);
  }
  return own;
}

Landmarks LandmarksFromRows(const PreparedData& inputs, std::vector<Index> rows) {
  Landmarks landmarks;
  landmarks.data = std::make_shared<PreparedData>(SelectRows(inputs, rows));
  landmarks.rows = std::move(rows);
  return landmarks;
}

absl::StatusOr<Landmarks> SelectLandmarks(const PreparedData& inputs,
                                          const std::vector<KernelSpec>& kernels,
                                          LandmarkSelection selection, Index count, uint64_t seed,
                                          RunContext& context) {
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  std::vector<Index> rows = DrawRows(inputs.rows, count, seed, "landmarks");
  if (count >= inputs.rows) {
    return LandmarksFromRows(inputs, std::move(rows));
  }
  switch (selection) {
    case LandmarkSelection::kUniform:
      break;
    case LandmarkSelection::kKMeans:
      return Centres(inputs, rows, seed, context);
    case LandmarkSelection::kLeverage: {
      MERCER_ASSIGN_OR_RETURN(rows, DrawByLeverage(inputs, kernels, count, seed, context));
      break;
    }
    case LandmarkSelection::kPivotedCholesky: {
      MERCER_ASSIGN_OR_RETURN(rows, PickPivots(inputs, kernels, count, context));
      break;
    }
  }
  return LandmarksFromRows(inputs, std::move(rows));
}

absl::StatusOr<Landmarks> SelectOwnLandmarks(const PreparedData& inputs,
                                             const std::vector<KernelSpec>& kernels,
                                             LandmarkSelection selection, Index count,
                                             uint64_t seed, RunContext& context) {
  if (count >= inputs.rows) {
    return SelectLandmarks(inputs, kernels, selection, count, seed, context);
  }
  MERCER_RETURN_IF_ERROR(CheckKernels(inputs, kernels, context));
  std::vector<std::vector<Index>> rows;
  for (const KernelSpec& kernel : kernels) {
    MERCER_ASSIGN_OR_RETURN(std::vector<Index> of_kernel,
                            selection == LandmarkSelection::kLeverage
                                ? DrawByLeverage(inputs, {kernel}, count, seed, context)
                                : PickPivots(inputs, {kernel}, count, context));
    rows.push_back(std::move(of_kernel));
  }
  return UnionOf(inputs, rows);
}

absl::StatusOr<Landmarks> PivotedLandmarks(const PreparedData& inputs,
                                           const std::vector<KernelSpec>& kernels, Index count,
                                           double threshold, RunContext& context) {
  MERCER_RETURN_IF_ERROR(CheckKernels(inputs, kernels, context));
  std::vector<std::vector<Index>> rows;
  std::vector<std::shared_ptr<const Matrix>> maps;
  for (size_t k = 0; k < kernels.size(); ++k) {
    MERCER_ASSIGN_OR_RETURN(PivotedFactor factor,
                            FactorByPivots(inputs, kernels, k, count, threshold, context));
    rows.push_back(std::move(factor.pivots));
    maps.push_back(std::make_shared<const Matrix>(std::move(factor.map)));
  }
  Landmarks landmarks = UnionOf(inputs, rows);
  for (size_t k = 0; k < kernels.size(); ++k) {
    landmarks.of_kernel[k].map = std::move(maps[k]);
  }
  return landmarks;
}

}  // namespace mercer
