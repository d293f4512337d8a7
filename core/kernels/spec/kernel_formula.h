// What one kernel is. Each file of formulas/ describes one; formulas/kernels.inc lists them, and
// everything that asks which kernel it has before it (names, checks, sources, values, the API, the
// command line) reads its description here.
//
// A kernel is a function of one number t for each pair of rows: the value that it `reads`, or the
// square root of it. Blocks of t are computed once for all kernels that read the same
// (kernel_source.h). From t follow the kernel's values and, with t of a row and itself, its
// diagonal.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/types/span.h"

#include "core/base/numeric/types.h"
#include "core/data/table/dataset.h"
#include "core/kernels/spec/kernel_spec.h"
#include "core/kernels/spec/pair_values.h"
#include "core/linalg/vector_math.h"

namespace mercer {

// A number that a kernel has: a member of KernelSpec, real or whole, and a field of the same name
// of the API's messages. It is finite and in [min, max], or in (min, max].
struct KernelParameter {
  std::string_view name = {};
  double KernelSpec::*real = nullptr;
  int KernelSpec::*whole = nullptr;
  double min = 0;
  bool min_open = false;
  double max = kInfinity;
  std::vector<std::string_view> names_elsewhere = {};  // what other programs call it: "sigma"

  double Of(const KernelSpec& spec) const { return real != nullptr ? spec.*real : spec.*whole; }
  void Set(double value, KernelSpec& spec) const;
  bool Allows(double value) const;
  // "must be > 0 and finite, is -1".
  std::string Refusal(double value) const;
};

// What another program's word gamma is in a kernel.
struct GammaWords {
  std::string_view parameter = {};    // "bandwidth", or "scale", which is gamma itself
  std::string_view formula = {};      // of the bandwidth: "1 / sqrt(2 gamma)"
  double (*value)(double) = nullptr;  // the bandwidth for a gamma > 0
};

struct KernelFormula {
  std::string_view name = {};     // "gaussian"
  std::string_view formula = {};  // "`exp(-|x - z|^2 / (2 bandwidth^2))`", for the documentation
  std::vector<std::string_view> names_elsewhere = {};  // what other programs call it: "rbf"
  GammaWords gamma = {};
  // A value of two rows, or the entry of a square block.
  std::variant<PairValue, SquareKind> reads = PairValue::kDotProduct;
  bool of_root = false;  // t is the square root of what it reads
  std::vector<KernelParameter> parameters = {};
  // Of exp(-rate t), whose sums over many kernels have loops of their own; null for other kernels.
  // Of features such a kernel has the diagonal 1.
  double (*rate)(const KernelSpec& spec) = nullptr;
  // Of other kernels the values for a block of t, with the layout of vector_math.h; null where they
  // are t itself.
  void (*values)(const KernelSpec& spec, const Strip& strip, double* out) = nullptr;

  bool is_exponential() const { return rate != nullptr; }
  bool has_bandwidth() const { return has("bandwidth"); }
  bool is_square() const { return std::holds_alternative<SquareKind>(reads); }
  bool has(std::string_view parameter) const;
};

// One named "unknown" for a type that is none.
const KernelFormula& FormulaOf(KernelType type);
// In the order of KernelType.
absl::Span<const KernelFormula> AllFormulas();
// Of all kernels, each once, in the order of the kernels.
absl::Span<const KernelParameter> AllKernelParameters();

inline bool IsSquareType(KernelType type) { return FormulaOf(type).is_square(); }
inline bool HasBandwidth(KernelType type) { return FormulaOf(type).has_bandwidth(); }
inline bool IsExponential(KernelType type) { return FormulaOf(type).is_exponential(); }
// The rate of an exponential kernel; finite for every valid bandwidth.
double ExponentialRate(const KernelSpec& spec);

// Values of one kernel for a block of t, and for a block of what it reads; out may be strip.values.
void KernelValues(const KernelSpec& spec, const Strip& t, double* out);
void KernelValuesOfRead(const KernelSpec& spec, const Strip& strip, double* out);

// For the files of formulas/: a width that divides the distance, and the rate 1 / bandwidth.
KernelParameter Bandwidth();
double RateOfBandwidth(const KernelSpec& spec);

}  // namespace mercer
