// Builds exact families: groups kernels by source, checks the data that they read, normalises.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/process/paced_check.h"
#include "core/base/status/byte_count.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/exact_kernel_family.h"
#include "core/kernels/gram/kernel_strips.h"
#include "core/kernels/spec/kernel_errors.h"
#include "core/kernels/spec/normalization.h"
#include "core/linalg/exponential_table.h"

namespace mercer {
namespace {

// Distances are stored while they fit; the tiles of further sources are computed in every pass.
// Those of many sources save little: of each a pass reads few kernels of a distance that it reads
// once. Constants, so that what a run needs is known beforehand and does not depend on the machine.
constexpr size_t kMaxStoredBytes = size_t{4} << 30;
constexpr size_t kMaxStoredBytesOfMany = size_t{1} << 30;
constexpr size_t kFewSources = 32;
// Distances of one source that are stored even for one pass.
constexpr size_t kSmallBytes = size_t{64} << 20;
// How many tiles and strips are in the hands of the threads, at most.
constexpr size_t kScratchTiles = 32;
constexpr size_t kMaxPartialSumBytes = size_t{16} << 20;

size_t StoredBytes(Index num_rows) {
  return static_cast<size_t>(TileGrid{num_rows}.PackedSize()) * sizeof(double);
}

// How many sources are stored at the most.
size_t MostStoredSources(Index num_rows) {
  const size_t each = std::max<size_t>(StoredBytes(num_rows), 1);
  return std::max(std::min(kFewSources, kMaxStoredBytes / each), kMaxStoredBytesOfMany / each);
}

// The source of each kernel; violations of all kernels at once.
absl::StatusOr<std::vector<KernelSource>> ResolveSources(const std::vector<KernelSpec>& specs,
                                                         const PreparedData& data,
                                                         const RunContext& context) {
  FieldViolations violations;
  std::vector<KernelSource> sources(specs.size());
  const SourceFinder finder(data);
  for (size_t k = 0; k < specs.size(); ++k) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const std::string field = KernelField(k);
    const absl::Status valid = ValidateKernelSpec(specs[k]);
    if (!valid.ok()) {
      violations.AddAll(field, valid);
      continue;
    }
    absl::StatusOr<KernelSource> source = finder.Find(specs[k]);
    if (source.ok() && source->is_square && data.FindSquare(source->square) == nullptr) {
      violations.Add(absl::StrCat(field, ".block"), "the data has no square block of that name");
    } else if (source.ok()) {
      sources[k] = *std::move(source);
    } else {
      violations.AddAll(field, source.status());
    }
  }
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  return sources;
}

absl::Status AddSourcesAndGroups(const std::shared_ptr<const PreparedData>& data,
                                 const std::vector<Index>& rows,
                                 const std::vector<KernelSource>& sources, KernelPasses passes,
                                 RunContext& context, ExactKernels& parts) {
  const size_t each = StoredBytes(parts.size);
  const bool serves_others = !data->cache_key.empty() && context.cache().Keeps(each);
  const bool store_any = passes == KernelPasses::kMany || serves_others || each <= kSmallBytes;
  const size_t most_stored = store_any ? MostStoredSources(parts.size) : 0;
  HashMap<std::string, Index> source_of_key;
  HashMap<std::string, size_t> group_of_key;
  size_t stored = 0;
  PacedCheck check(context);
  for (size_t k = 0; k < sources.size(); ++k) {
    MERCER_RETURN_IF_ERROR(check.After(kSourceWork));
    const std::string key = SourceKey(sources[k]);
    const auto [found, is_new] =
        source_of_key.try_emplace(key, static_cast<Index>(parts.sources.size()));
    if (is_new) {
      const bool store = IsWorthStoring(sources[k]) && stored < most_stored;
      absl::StatusOr<TileSource> source = TileSource::Make(sources[k], data, rows, store, context);
      if (!source.ok()) {
        return NameKernel(k, parts.specs[k], source.status());
      }
      parts.sources.push_back(*std::move(source));
      stored += store ? 1 : 0;
    }
    const KernelFormula& formula = FormulaOf(parts.specs[k].type);
    const bool square_root = formula.of_root;
    const auto [group, new_group] =
        group_of_key.try_emplace(absl::StrCat(square_root ? "r" : "d", key), parts.groups.size());
    if (new_group) {
      parts.groups.emplace_back();
      parts.groups.back().source = found->second;
      parts.groups.back().square_root = square_root;
    }
    parts.group_of.push_back(static_cast<Index>(group->second));
    KernelGroup& target = parts.groups[group->second];
    (formula.is_exponential() ? target.exponentials : target.others)
        .push_back(static_cast<Index>(k));
  }
  return absl::OkStatus();
}

void AddTables(ExactKernels& parts) {
  for (KernelGroup& group : parts.groups) {
    if (group.exponentials.size() < kTableKernels ||
        !parts.sources[static_cast<size_t>(group.source)].nonnegative()) {
      continue;
    }
    double smallest = kInfinity;
    double largest = 0;
    for (const Index kernel : group.exponentials) {
      smallest = std::min(smallest, parts.rates[static_cast<size_t>(kernel)]);
      largest = std::max(largest, parts.rates[static_cast<size_t>(kernel)]);
    }
    group.grid = ExponentialGrid::Make(smallest, largest);
  }
}

// A Gram matrix with a negative diagonal is not positive semidefinite; unit diagonals need positive
// ones.
absl::Status CheckDiagonal(const KernelSpec& spec, const Vector& diagonal, const PreparedData& data,
                           const std::vector<Index>& rows) {
  for (Index i = 0; i < diagonal.size(); ++i) {
    const Index row = data.RowNumber(rows.empty() ? i : rows[static_cast<size_t>(i)]);
    if (diagonal(i) < 0 || !std::isfinite(diagonal(i))) {
      return WithReason(absl::InvalidArgumentError(
                            absl::StrCat("row ", row + 1, ": the kernel of the row with itself is ",
                                         diagonal(i), ": not positive semidefinite")),
                        "NOT_PSD", {{"row", absl::StrCat(row + 1)}});
    }
    if (spec.normalization.unit_diagonal && !(diagonal(i) > 0)) {
      return ZeroDiagonalError("row", row, diagonal(i));
    }
  }
  return absl::OkStatus();
}

absl::Status NormalizeDiagonals(const PreparedData& data, const std::vector<Index>& rows,
                                ExactKernels& parts, RunContext& context) {
  parts.scales = Vector::Ones(static_cast<Index>(parts.specs.size()));
  parts.diagonal_factors.resize(parts.specs.size());
  for (size_t k = 0; k < parts.specs.size(); ++k) {
    const KernelSpec& spec = parts.specs[k];
    if (IsExponential(spec.type)) {
      continue;  // the diagonal is exp(-0) for features, and positive for every distance matrix
    }
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Vector diagonal = KernelDiagonal(parts, static_cast<Index>(k));
    const absl::Status checked = CheckDiagonal(spec, diagonal, data, rows);
    if (!checked.ok()) {
      return NameKernel(k, spec, checked);
    }
    if (spec.normalization.unit_diagonal) {
      parts.diagonal_factors[k] = diagonal.array().sqrt().inverse();
    }
  }
  return absl::OkStatus();
}

// Whether its factor is one of the sum of its entries.
bool IsSummedForScaling(const KernelSpec& spec) {
  const KernelScaling scaling = spec.normalization.scaling;
  return scaling == KernelScaling::kVariance || scaling == KernelScaling::kCentredTrace;
}

// Factors of the kernels that ask for one, from sums over the kernels as they are so far (unit
// diagonal included).
absl::StatusOr<Vector> ScalingFactors(const ExactKernels& parts, RunContext& context) {
  std::vector<Index> scaled;
  std::vector<Index> summed;
  for (size_t k = 0; k < parts.specs.size(); ++k) {
    const KernelScaling scaling = parts.specs[k].normalization.scaling;
    if (scaling != KernelScaling::kNone) {
      scaled.push_back(static_cast<Index>(k));
    }
    if (IsSummedForScaling(parts.specs[k])) {
      summed.push_back(static_cast<Index>(k));
    }
  }
  Vector factors = parts.scales;
  Matrix totals = Matrix::Zero(static_cast<Index>(summed.size()), 1);
  if (!summed.empty()) {
    const Matrix ones = Matrix::Ones(parts.size, 1);
    MERCER_RETURN_IF_ERROR(ExactKernelFamily(parts).QuadraticForms(ones, summed, totals, context));
  }
  Index next_total = 0;
  for (const Index kernel : scaled) {
    const KernelSpec& spec = parts.specs[static_cast<size_t>(kernel)];
    const KernelScaling scaling = spec.normalization.scaling;
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    GramSums sums{parts.size, KernelDiagonal(parts, kernel).sum(), 0.0};
    if (IsSummedForScaling(spec)) {
      sums.total = totals(next_total++, 0);
    }
    const absl::StatusOr<double> factor = ScalingFactor(scaling, sums);
    if (!factor.ok()) {
      return NameKernel(static_cast<size_t>(kernel), spec, factor.status());
    }
    factors(kernel) = *factor;
  }
  return factors;
}

// Everything but the factors, which are 1.
absl::StatusOr<ExactKernels> PrepareKernels(std::shared_ptr<const PreparedData> data,
                                            std::vector<Index> rows,
                                            std::vector<KernelSpec> kernels, KernelPasses passes,
                                            RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<KernelSource> sources,
                          ResolveSources(kernels, *data, context));
  ExactKernels parts;
  parts.specs = std::move(kernels);
  parts.size = rows.empty() ? data->rows : static_cast<Index>(rows.size());
  for (const KernelSpec& spec : parts.specs) {
    parts.rates.push_back(IsExponential(spec.type) ? ExponentialRate(spec) : 0.0);
  }
  MERCER_RETURN_IF_ERROR(AddSourcesAndGroups(data, rows, sources, passes, context, parts));
  AddTables(parts);
  MERCER_RETURN_IF_ERROR(NormalizeDiagonals(*data, rows, parts, context));
  return parts;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelFamily>> MakeExactKernelFamily(
    std::shared_ptr<const PreparedData> data, std::vector<Index> rows,
    std::vector<KernelSpec> kernels, RunContext& context, KernelPasses passes) {
  // Factors from sums over a kernel are a pass of their own.
  const bool are_summed = std::any_of(kernels.begin(), kernels.end(), IsSummedForScaling);
  MERCER_ASSIGN_OR_RETURN(ExactKernels parts,
                          PrepareKernels(std::move(data), std::move(rows), std::move(kernels),
                                         are_summed ? KernelPasses::kMany : passes, context));
  MERCER_ASSIGN_OR_RETURN(parts.scales, ScalingFactors(parts, context));
  return std::unique_ptr<KernelFamily>(std::make_unique<ExactKernelFamily>(std::move(parts)));
}

absl::StatusOr<std::unique_ptr<KernelFamily>> MakeExactKernelFamily(
    std::shared_ptr<const PreparedData> data, std::vector<Index> rows,
    std::vector<KernelSpec> kernels, Vector scales, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(ExactKernels parts,
                          PrepareKernels(std::move(data), std::move(rows), std::move(kernels),
                                         KernelPasses::kMany, context));
  parts.scales = std::move(scales);
  return std::unique_ptr<KernelFamily>(std::make_unique<ExactKernelFamily>(std::move(parts)));
}

namespace {

// From here on a Gram matrix fits no machine, and its tiles would soon not be counted in 64 bits.
constexpr Index kMostRows = Index{1} << 28;

}  // namespace

size_t ExactKernelSourceBytes(const ExactFamilyShape& shape) {
  const Index num_rows = std::min(shape.rows, kMostRows);
  const ByteCount stored =
      std::min(ByteCount(shape.stored_sources), ByteCount(MostStoredSources(num_rows))) *
      ByteCount(StoredBytes(num_rows));
  // The columns that sources gather, their norms, diagonals and lists of rows, with what pads them,
  // and the diagonals of kernels.
  constexpr ByteCount kOfSource(4);
  const ByteCount sources = ByteCount(shape.stored_sources) + ByteCount(shape.recomputed_sources);
  const ByteCount vectors =
      ByteCount(shape.columns) + kOfSource * sources + ByteCount(shape.unit_diagonals);
  const ByteCount features = ByteCount(num_rows) * vectors * ByteCount(sizeof(double));
  const ByteCount kernels = ByteCount(shape.kernels) * ByteCount(sizeof(KernelSpec) + 256);
  return (stored + features + kernels).value();
}

size_t ExactKernelFamilyBytes(const ExactFamilyShape& shape) {
  const Index num_rows = std::min(shape.rows, kMostRows);
  const ByteCount n(num_rows);
  const ByteCount number(sizeof(double));
  const ByteCount tile =
      std::min(n * n, ByteCount(TileGrid::kBlock) * ByteCount(TileGrid::kBlock)) * number;
  const ByteCount partial_sums =
      std::min(ByteCount(kMaxPartialSumBytes),
               ByteCount(TileGrid{num_rows}.num_tiles()) * ByteCount(shape.kernels) * number);
  return (ByteCount(ExactKernelSourceBytes(shape)) + n * n * number +
          ByteCount(kScratchTiles) * tile + partial_sums)
      .value();
}

}  // namespace mercer
