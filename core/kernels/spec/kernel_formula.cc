#include "core/kernels/spec/kernel_formula.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace mercer {

namespace formulas {
#define MERCER_KERNEL(Name) KernelFormula Name();
#include "core/kernels/formulas/kernels.inc"
#undef MERCER_KERNEL
}  // namespace formulas

namespace {

std::vector<KernelFormula> MakeFormulas() {
  std::vector<KernelFormula> made;
#define MERCER_KERNEL(Name) made.push_back(formulas::Name());
#include "core/kernels/formulas/kernels.inc"
#undef MERCER_KERNEL
  return made;
}

std::vector<KernelParameter> MakeParameters() {
  std::vector<KernelParameter> made;
  for (const KernelFormula& formula : AllFormulas()) {
    for (const KernelParameter& parameter : formula.parameters) {
      if (std::none_of(made.begin(), made.end(), [&](const KernelParameter& other) {
            return other.name == parameter.name;
          })) {
        made.push_back(parameter);
      }
    }
  }
  return made;
}

}  // namespace

void KernelParameter::Set(double value, KernelSpec& spec) const {
  if (real != nullptr) {
    spec.*real = value;
  } else {
    spec.*whole = static_cast<int>(value);
  }
}

bool KernelParameter::Allows(double value) const {
  return std::isfinite(value) && (min_open ? value > min : value >= min) && value <= max;
}

std::string KernelParameter::Refusal(double value) const {
  const std::string range = std::isfinite(max)
                                ? absl::StrCat("in ", min, " .. ", max)
                                : absl::StrCat(min_open ? "> " : ">= ", min, " and finite");
  return whole != nullptr ? absl::StrCat("must be ", range, ", is ", static_cast<int64_t>(value))
                          : absl::StrCat("must be ", range, ", is ", value);
}

bool KernelFormula::has(std::string_view parameter) const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [&](const KernelParameter& own) { return own.name == parameter; });
}

const KernelFormula& FormulaOf(KernelType type) {
  static const auto& unknown = *new KernelFormula{.name = "unknown"};
  const auto place = static_cast<size_t>(type);
  return place < AllFormulas().size() ? AllFormulas()[place] : unknown;
}

absl::Span<const KernelFormula> AllFormulas() {
  static const auto& all = *new std::vector<KernelFormula>(MakeFormulas());
  return all;
}

absl::Span<const KernelParameter> AllKernelParameters() {
  static const auto& all = *new std::vector<KernelParameter>(MakeParameters());
  return all;
}

void KernelValues(const KernelSpec& spec, const Strip& t, double* out) {
  const KernelFormula& formula = FormulaOf(spec.type);
  if (formula.is_exponential()) {
    ExponentialValues(t, ExponentialRate(spec), out);
  } else if (formula.values != nullptr) {
    formula.values(spec, t, out);
  } else if (t.values != out) {
    const Index padded = PaddedLength(t.cols);
    for (Index r = 0; r < t.rows; ++r) {
      std::copy_n(t.values + r * t.stride, padded, out + r * t.stride);
    }
  }
}

void KernelValuesOfRead(const KernelSpec& spec, const Strip& strip, double* out) {
  Strip t = strip;
  if (FormulaOf(spec.type).of_root) {
    SquareRoots(strip, out);
    t.values = out;
  }
  KernelValues(spec, t, out);
}

double ExponentialRate(const KernelSpec& spec) {
  return std::min(FormulaOf(spec.type).rate(spec), std::numeric_limits<double>::max());
}

KernelParameter Bandwidth() {
  return {.name = "bandwidth",
          .real = &KernelSpec::bandwidth,
          .min_open = true,
          .names_elsewhere = {"sigma", "width", "length_scale"}};
}

double RateOfBandwidth(const KernelSpec& spec) { return 1.0 / spec.bandwidth; }

}  // namespace mercer
