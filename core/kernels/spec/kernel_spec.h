// What a user says about one kernel, and the generator of whole families of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"

namespace mercer {

// The kernels of formulas/kernels.inc; kernel_formula.h says what each of them is.
enum class KernelType : uint8_t {
#define MERCER_KERNEL(Name) k##Name,
#include "core/kernels/formulas/kernels.inc"
#undef MERCER_KERNEL
};

// The one that was added last.
KernelType LastKernelType();

// How a Gram matrix K over the n training rows is rescaled; the factor is recorded and applied to
// new rows alike (docs/mathematics/README.md, section 5).
enum class KernelScaling : uint8_t {
  kNone = 0,
  kTrace = 1,         // 1 / trace(K)
  kMeanDiagonal = 2,  // n / trace(K)
  kVariance = 3,      // 1 / (trace(K) / n - mean(K)), the variance in feature space; error when <=
                      // 1e-12 trace(K) / n
  kCentredTrace = 4,  // 1 / (trace(K) - sum(K) / n), the trace after centring
};

struct KernelNormalization {
  // First k(x, z) / sqrt(k(x, x) k(z, z)); error when a k(x, x) <= 0. Not for square blocks.
  bool unit_diagonal = false;
  KernelScaling scaling = KernelScaling::kNone;

  friend bool operator==(const KernelNormalization&, const KernelNormalization&) = default;

  static void VisitFields(auto& visit, auto& self) {
    visit(self.unit_diagonal, UpTo(self.scaling, KernelScaling::kCentredTrace));
  }
};

// What a user calls a kernel, and the group of kernels that it is put in. Whatever is computed of
// a kernel (values, distances, factors) is the same with other labels.
struct KernelLabels {
  std::string name;   // empty: what DescribeKernel says
  std::string group;  // empty: the one that kernels are in by default

  bool empty() const { return name.empty() && group.empty(); }
  friend bool operator==(const KernelLabels&, const KernelLabels&) = default;

  static void VisitFields(auto& visit, auto& self) { visit(self.name, self.group); }
};

struct KernelSpec {
  KernelType type = KernelType::kGaussian;
  // Parameters, of which a kernel has some (KernelFormula::parameters says which, and their
  // ranges).
  double bandwidth = 1.0;  // unit: that of the distance it divides
  int degree = 3;
  double scale = 1.0;
  double offset = 1.0;
  std::string block;  // feature or square block; empty: the only feature block, or, with several,
                      // all of them side by side
  std::vector<std::string> columns;  // names of the data set's columns in the block; empty: all
  KernelNormalization normalization;
  KernelLabels labels;

  // Labels count: two kernels that differ in nothing else are told apart by people.
  friend bool operator==(const KernelSpec&, const KernelSpec&) = default;

  // Without the labels: what has these bytes has the same values, and caches are named by them.
  static void VisitFields(auto& visit, auto& self) {
    visit(UpTo(self.type, LastKernelType()), self.bandwidth, self.degree, self.scale, self.offset,
          self.block, self.columns, self.normalization);
  }
};

std::string_view KernelTypeName(KernelType type);
// What a kernel is, whatever it is called: "gaussian(bandwidth=1.5, columns=age)". It tells
// different kernels apart.
std::string DescribeKernel(const KernelSpec& spec);
// The kernel's name for people: the one that it was given, else its description.
std::string KernelName(const KernelSpec& spec);
// The shortest text that reads back as the same number.
std::string ShortestText(double value);

// Checks that parameters are in their ranges; violations name the field of the spec ("bandwidth").
absl::Status ValidateKernelSpec(const KernelSpec& spec);

enum class BandwidthRule : uint8_t {
  kList = 0,       // `bandwidths` as they are
  kLogSpaced = 1,  // `count` values from `min_bandwidth` to `max_bandwidth`, equal ratios
  // The median distance of the training rows (per column set) times each of `bandwidths`, or times
  // each of the values that kLogSpaced makes when `count`, `min_bandwidth` or `max_bandwidth` is
  // set.
  kMedianMultiples = 2,
};

// One entry of a request's kernel list: a single kernel, or a family generated from it.
struct KernelGrid {
  // Its bandwidth is used by kList with an empty list. Its group is that of all kernels, its name
  // that of a single one; of several it is completed (MemberName in kernel_labels.h).
  KernelSpec prototype;
  BandwidthRule rule = BandwidthRule::kList;
  std::vector<double> bandwidths;
  double min_bandwidth = 0;
  double max_bandwidth = 0;
  int count = 0;
  // One kernel per column of the data set (and bandwidth) instead of one for all columns.
  bool per_column = false;
};

inline constexpr size_t kMaxKernels = 100'000;

// The kernels of `grids` in order: for each grid the column sets, for each the bandwidths.
// Violations are named "kernels[i].bandwidth" and so on; more than kMaxKernels kernels, no kernel
// at all, unknown blocks or columns, and a name that two kernels would have are errors; kernels
// that were given no names may be alike. The median heuristic looks at the rows `rows`
// of `data` alone (empty: at all; at most 2000 of them, drawn with `seed`), and at no copy of them.
// Where most pairs of rows are equal, as in a column of few values, the median is that of the
// distances > 0; rows that are all equal are an error, but with per_column a column of them is left out,
// unless all are.
absl::StatusOr<std::vector<KernelSpec>> ExpandKernels(const std::vector<KernelGrid>& grids,
                                                      const PreparedData& data,
                                                      const std::vector<Index>& rows, uint64_t seed,
                                                      RunContext& context);

}  // namespace mercer
