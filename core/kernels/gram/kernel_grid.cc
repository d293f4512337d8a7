// ExpandKernels: families of kernels from grids of bandwidths and column sets.
#include "core/kernels/gram/kernel_grid.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/numeric/index_range.h"
#include "core/base/numeric/random.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_source.h"
#include "core/kernels/spec/kernel_errors.h"
#include "core/kernels/spec/kernel_labels.h"
#include "core/kernels/spec/kernel_spec.h"
#include "core/linalg/vector_math.h"

namespace mercer {
namespace {

constexpr size_t kMedianRows = 2000;
constexpr Index kMedianRowBlock = 64;
constexpr char kZeroMedian[] = "ZERO_MEDIAN";

std::string Field(size_t grid, absl::string_view name) {
  return absl::StrCat(KernelField(grid), ".", name);
}

void CheckPositive(double value, std::string field, FieldViolations& violations) {
  violations.Check(value > 0 && std::isfinite(value), field,
                   absl::StrCat("must be > 0 and finite, is ", value));
}

void CheckBandwidths(size_t g, const KernelGrid& grid, FieldViolations& violations) {
  if (!HasBandwidth(grid.prototype.type)) {
    violations.Check(grid.rule == BandwidthRule::kList && grid.bandwidths.empty(),
                     Field(g, "bandwidths"), "this type of kernel has no bandwidth");
    return;
  }
  if (IsLogSpaced(grid)) {
    CheckPositive(grid.min_bandwidth, Field(g, "min_bandwidth"), violations);
    CheckPositive(grid.max_bandwidth, Field(g, "max_bandwidth"), violations);
    violations.Check(!(grid.max_bandwidth < grid.min_bandwidth), Field(g, "max_bandwidth"),
                     absl::StrCat("must be >= min_bandwidth = ", grid.min_bandwidth, ", is ",
                                  grid.max_bandwidth));
    violations.Check(grid.count >= 1, Field(g, "count"),
                     absl::StrCat("must be >= 1, is ", grid.count));
    return;
  }
  for (size_t i = 0; i < grid.bandwidths.size(); ++i) {
    CheckPositive(grid.bandwidths[i], Field(g, absl::StrCat("bandwidths[", i, "]")), violations);
  }
}

// The column sets of a grid: the prototype's own, or one per column of the data set.
std::vector<std::vector<std::string>> ColumnSets(const KernelGrid& grid, const PreparedData& data) {
  if (!grid.per_column) {
    return {grid.prototype.columns};
  }
  std::vector<std::vector<std::string>> sets;
  if (!grid.prototype.columns.empty()) {
    for (const std::string& name : grid.prototype.columns) {
      sets.push_back({name});
    }
    return sets;
  }
  HashSet<std::string> seen;
  for (const PreparedBlock& block : data.blocks) {
    if (!grid.prototype.block.empty() && block.name != grid.prototype.block) {
      continue;
    }
    for (const std::string& name : block.sources) {
      if (seen.insert(name).second) {
        sets.push_back({name});
      }
    }
  }
  return sets;
}

std::vector<double> LogSpaced(double smallest, double largest, int count) {
  std::vector<double> values(static_cast<size_t>(count), smallest);
  for (int i = 1; i < count; ++i) {
    const double part = static_cast<double>(i) / (count - 1);
    values[static_cast<size_t>(i)] =
        std::exp((1.0 - part) * std::log(smallest) + part * std::log(largest));
  }
  if (count > 1) {
    values.back() = largest;
  }
  return values;
}

// The rows that the median heuristic may look at.
struct KnownRows {
  const PreparedData& data;
  const std::vector<Index>& rows;  // empty: all
};

std::vector<Index> MedianRows(const KnownRows& known, uint64_t seed) {
  std::vector<Index> rows = known.rows;
  if (rows.empty()) {
    rows = IndexRange(0, known.data.rows);
  }
  if (rows.size() > kMedianRows) {
    RandomStream stream(seed, "median-distance-rows");
    stream.Shuffle(rows);
    rows.resize(kMedianRows);
    std::sort(rows.begin(), rows.end());
  }
  return rows;
}

double Median(std::vector<double>& values) {
  const size_t middle = values.size() / 2;
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(middle);
  std::nth_element(values.begin(), place, values.end());
  const double upper = *place;
  return values.size() % 2 == 1 ? upper : 0.5 * (upper + *std::max_element(values.begin(), place));
}

// The distances of all pairs of `rows` under the kernel's distance (for the Gaussian the Euclidean
// one).
absl::StatusOr<std::vector<double>> PairDistances(const KernelSpec& spec, const PreparedData& data,
                                                  const std::vector<Index>& rows,
                                                  RunContext& context) {
  const auto n = static_cast<Index>(rows.size());
  std::vector<double> distances;
  distances.reserve(rows.size() * rows.size() / 2);
  if (IsSquareType(spec.type)) {
    MERCER_ASSIGN_OR_RETURN(const SquareBlock* square, ResolveSquare(spec, data));
    MERCER_RETURN_IF_ERROR(CheckSquareShape(*square));
    const auto values = square->values.view();
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < i; ++j) {
        distances.push_back(values(rows[static_cast<size_t>(i)], rows[static_cast<size_t>(j)]));
      }
    }
    return distances;
  }
  MERCER_ASSIGN_OR_RETURN(const KernelSource source, ResolveSource(spec, data));
  MERCER_ASSIGN_OR_RETURN(const RowMatrix features, GatherFeatures(source, data, rows, context));
  const Index stride = PaddedLength(n);
  std::vector<double> values(static_cast<size_t>(kMedianRowBlock * stride));
  for (Index begin = 0; begin < n; begin += kMedianRowBlock) {
    const Index count = std::min(kMedianRowBlock, n - begin);
    ComputePairValues(source.value, features.middleRows(begin, count),
                      features.topRows(begin + count), values.data(), stride, context);
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    for (Index r = 0; r < count; ++r) {
      distances.insert(distances.end(), values.begin() + r * stride,
                       values.begin() + r * stride + begin + r);
    }
  }
  if (source.value == PairValue::kSquaredDistance) {
    for (double& distance : distances) {
      distance = std::sqrt(distance);
    }
  }
  return distances;
}

absl::StatusOr<double> MedianDistance(const KernelSpec& spec, const KnownRows& known, uint64_t seed,
                                      RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(std::vector<double> distances,
                          PairDistances(spec, known.data, MedianRows(known, seed), context));
  // A NaN, which values near the end of the range may give, has no place in an order.
  const bool ordered = std::none_of(distances.begin(), distances.end(),
                                    [](double distance) { return std::isnan(distance); });
  double median = distances.empty() ? 0.0 : ordered ? Median(distances) : std::nan("");
  if (median == 0) {
    // In a column of few values most pairs may be equal; a width can be learned from the others.
    distances.erase(std::remove(distances.begin(), distances.end(), 0.0), distances.end());
    median = distances.empty() ? 0.0 : Median(distances);
  }
  if (!(median > 0)) {
    const std::string of =
        spec.columns.empty() ? "" : absl::StrCat(" of '", spec.columns.front(), "'");
    const absl::Status error =
        absl::InvalidArgumentError(absl::StrCat("the median distance between training rows", of,
                                                " is ", median, ": give bandwidths instead"));
    return median == 0 ? WithReason(error, kZeroMedian) : error;
  }
  return median;
}

// Bandwidths for one column set; {prototype's} for kernels without.
absl::StatusOr<std::vector<double>> Bandwidths(const KernelGrid& grid, const KernelSpec& spec,
                                               const KnownRows& known, uint64_t seed,
                                               RunContext& context) {
  const bool multiples = grid.rule == BandwidthRule::kMedianMultiples;
  std::vector<double> bandwidths =
      IsLogSpaced(grid) ? LogSpaced(grid.min_bandwidth, grid.max_bandwidth, grid.count)
                        : grid.bandwidths;
  if (bandwidths.empty()) {
    bandwidths = {multiples ? 1.0 : spec.bandwidth};
  }
  if (!multiples) {
    return bandwidths;
  }
  MERCER_ASSIGN_OR_RETURN(const double median, MedianDistance(spec, known, seed, context));
  for (double& bandwidth : bandwidths) {
    bandwidth *= median;
  }
  return bandwidths;
}

// The kernels of one grid. A column whose rows are all equal has no median distance, and nothing to tell: it has no kernel of its own
// where every column has one, unless none has any.
absl::Status ExpandGrid(size_t g, const KernelGrid& grid, const KnownRows& known, uint64_t seed,
                        std::vector<KernelSpec>& kernels, RunContext& context) {
  FieldViolations violations;
  const size_t before = kernels.size();
  absl::Status constant = absl::OkStatus();
  const auto about_bandwidths = [g](const absl::Status& status) {
    FieldViolations one;
    one.Add(Field(g, "bandwidths"), std::string(status.message()));
    const std::string reason = GetReason(status);
    return reason.empty() ? one.ToStatus()
                          : WithReason(one.ToStatus(), reason, GetErrorMetadata(status));
  };
  KernelSpec spec = grid.prototype;
  std::vector<std::vector<std::string>> sets = ColumnSets(grid, known.data);
  for (std::vector<std::string>& columns : sets) {
    spec.columns = std::move(columns);
    const absl::StatusOr<std::vector<double>> bandwidths =
        Bandwidths(grid, spec, known, seed, context);
    if (grid.per_column && GetReason(bandwidths.status()) == kZeroMedian) {
      constant = bandwidths.status();
      continue;
    }
    if (absl::IsInvalidArgument(bandwidths.status())) {
      return about_bandwidths(bandwidths.status());
    }
    MERCER_RETURN_IF_ERROR(bandwidths.status());
    for (const double bandwidth : *bandwidths) {
      spec.bandwidth = bandwidth;
      violations.AddAll(KernelField(g), ValidateKernelSpec(spec));
      kernels.push_back(spec);
      kernels.back().labels.name = MemberName(spec, bandwidths->size() > 1, sets.size() > 1);
    }
  }
  return constant.ok() || kernels.size() > before ? violations.ToStatus()
                                                  : about_bandwidths(constant);
}

absl::Status CheckGrid(size_t g, const KernelGrid& grid, const PreparedData& data) {
  FieldViolations violations;
  CheckKernelGrid(g, grid, violations);
  if (violations.empty()) {
    const absl::StatusOr<KernelSource> source = ResolveSource(grid.prototype, data);
    violations.AddAll(KernelField(g), source.status());
    if (IsSquareType(grid.prototype.type) && data.squares.empty()) {
      violations.Add(Field(g, "block"), "the data has no square block");
    }
  }
  return violations.ToStatus();
}

// What a repeated kernel is called before its number: what it is, where that may be a name.
std::string NameOfRepeated(const KernelSpec& kernel) {
  constexpr size_t kBytesOfNumber = 8;
  std::string described = DescribeKernel(kernel);
  return described.size() + kBytesOfNumber <= kMaxLabelBytes && IsLabelText(described)
             ? described
             : std::string(KernelTypeName(kernel.type));
}

// Of unnamed kernels that are alike all but the first get a name, "linear (2)", that no other has.
void NameEqualKernels(std::vector<KernelSpec>& kernels) {
  HashSet<std::string> names;
  std::vector<size_t> repeated;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const bool is_new = names.insert(KernelName(kernels[k])).second;
    if (!is_new && kernels[k].labels.name.empty()) {
      repeated.push_back(k);
    }
  }
  HashMap<std::string, size_t> numbers;  // the last of each
  for (const size_t k : repeated) {
    const std::string before = NameOfRepeated(kernels[k]);
    size_t& number = numbers.try_emplace(before, 1).first->second;
    std::string& name = kernels[k].labels.name;
    do {
      name = absl::StrCat(before, " (", ++number, ")");
    } while (!names.insert(name).second);
  }
}

// A name that was given to a kernel is that of no other kernel. `grid_of`: of each kernel.
void CheckNames(const std::vector<KernelSpec>& kernels, const std::vector<size_t>& grid_of,
                FieldViolations& violations) {
  const auto has_name = [&](size_t k) { return !kernels[k].labels.name.empty(); };
  HashMap<std::string, size_t> kernel_of_name;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const std::string name = KernelName(kernels[k]);
    const auto [found, is_new] = kernel_of_name.try_emplace(name, k);
    const size_t first = found->second;
    if (!is_new && (has_name(k) || has_name(first))) {
      violations.Add(Field(grid_of[has_name(k) ? k : first], "name"),
                     SameNameText(name, grid_of[first], grid_of[k]));
    }
  }
}

}  // namespace

bool IsLogSpaced(const KernelGrid& grid) {
  return grid.rule == BandwidthRule::kLogSpaced ||
         (grid.rule == BandwidthRule::kMedianMultiples &&
          (grid.count != 0 || grid.min_bandwidth != 0 || grid.max_bandwidth != 0));
}

size_t NumBandwidths(const KernelGrid& grid) {
  if (IsLogSpaced(grid)) {
    return static_cast<size_t>(std::max(grid.count, 0));
  }
  return std::max<size_t>(1, grid.bandwidths.size());
}

void CheckKernelGrid(size_t g, const KernelGrid& grid, FieldViolations& violations) {
  KernelSpec prototype = grid.prototype;
  if (grid.rule != BandwidthRule::kList || !grid.bandwidths.empty()) {
    prototype.bandwidth = 1.0;  // not used
  }
  violations.AddAll(KernelField(g), ValidateKernelSpec(prototype));
  violations.AddAll(KernelField(g), ValidateKernelLabels(prototype.labels));
  CheckBandwidths(g, grid, violations);
  violations.Check(!(grid.per_column && IsSquareType(prototype.type)), Field(g, "per_column"),
                   "a kernel on a square block has no columns");
}

absl::StatusOr<std::vector<KernelSpec>> ExpandKernels(const std::vector<KernelGrid>& grids,
                                                      const PreparedData& data,
                                                      const std::vector<Index>& rows, uint64_t seed,
                                                      RunContext& context) {
  FieldViolations violations;
  size_t total = 0;
  for (size_t g = 0; g < grids.size(); ++g) {
    violations.AddAll("", CheckGrid(g, grids[g], data));
    // Counted before anything is built: column sets times bandwidths cannot overflow 64 bits.
    const size_t sets = grids[g].per_column ? ColumnSets(grids[g], data).size() : 1;
    total += sets * NumBandwidths(grids[g]);
    if (total > kMaxKernels) {
      violations.Add("kernels", absl::StrCat("more than ", kMaxKernels, " kernels"));
      return violations.ToStatus();
    }
  }
  violations.Check(!violations.empty() || total > 0, "kernels", "no kernel at all");
  MERCER_RETURN_IF_ERROR(violations.ToStatus());

  std::vector<KernelSpec> kernels;
  kernels.reserve(total);
  std::vector<size_t> grid_of;
  bool named = false;
  for (size_t g = 0; g < grids.size(); ++g) {
    const absl::Status expanded = ExpandGrid(g, grids[g], {data, rows}, seed, kernels, context);
    if (!expanded.ok() && GetReason(expanded) != "BAD_FIELDS") {
      return expanded;  // of the data
    }
    violations.AddAll("", expanded);
    grid_of.resize(kernels.size(), g);
    named = named || !grids[g].prototype.labels.name.empty();
  }
  if (named) {
    CheckNames(kernels, grid_of, violations);
  }
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  // Rows to predict may come with fewer matrices, of which this need not be the only one of its
  // kind.
  for (KernelSpec& kernel : kernels) {
    if (IsSquareType(kernel.type) && kernel.block.empty() && data.squares.size() > 1) {
      MERCER_ASSIGN_OR_RETURN(const SquareBlock* square, ResolveSquare(kernel, data));
      kernel.block = square->name;
    }
  }
  NameEqualKernels(kernels);
  return kernels;
}

}  // namespace mercer
