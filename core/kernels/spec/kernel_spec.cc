#include "core/kernels/spec/kernel_spec.h"

#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status/errors.h"
#include "core/kernels/spec/kernel_formula.h"

namespace mercer {
namespace {

constexpr uint8_t kNumScalings = 5;

const char* ScalingName(KernelScaling scaling) {
  switch (scaling) {
    case KernelScaling::kNone:
      return "none";
    case KernelScaling::kTrace:
      return "trace";
    case KernelScaling::kMeanDiagonal:
      return "mean_diagonal";
    case KernelScaling::kVariance:
      return "variance";
    case KernelScaling::kCentredTrace:
      return "centred_trace";
  }
  return "unknown";
}

}  // namespace

KernelType LastKernelType() { return static_cast<KernelType>(AllFormulas().size() - 1); }

std::string_view KernelTypeName(KernelType type) { return FormulaOf(type).name; }

std::string ShortestText(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  return std::string(buffer, end);
}

std::string DescribeKernel(const KernelSpec& spec) {
  std::vector<std::string> parts;
  for (const KernelParameter& parameter : FormulaOf(spec.type).parameters) {
    parts.push_back(std::string(parameter.name) + "=" + ShortestText(parameter.Of(spec)));
  }
  if (!spec.block.empty()) {
    parts.push_back(absl::StrCat("block=", spec.block));
  }
  if (!spec.columns.empty()) {
    parts.push_back(absl::StrCat("columns=", absl::StrJoin(spec.columns, "+")));
  }
  if (spec.normalization.unit_diagonal) {
    parts.push_back("unit_diagonal");
  }
  if (spec.normalization.scaling != KernelScaling::kNone) {
    parts.push_back(absl::StrCat("scaling=", ScalingName(spec.normalization.scaling)));
  }
  std::string type(KernelTypeName(spec.type));
  if (parts.empty()) {
    return type;
  }
  return absl::StrCat(type, "(", absl::StrJoin(parts, ", "), ")");
}

std::string KernelName(const KernelSpec& spec) {
  return spec.labels.name.empty() ? DescribeKernel(spec) : spec.labels.name;
}

absl::Status ValidateKernelSpec(const KernelSpec& spec) {
  FieldViolations violations;
  if (static_cast<size_t>(spec.type) >= AllFormulas().size()) {
    violations.Add("type", "unknown kernel type");
    return violations.ToStatus();
  }
  const KernelFormula& formula = FormulaOf(spec.type);
  for (const KernelParameter& parameter : formula.parameters) {
    const double value = parameter.Of(spec);
    violations.Check(parameter.Allows(value), std::string(parameter.name),
                     parameter.Refusal(value));
  }
  if (formula.is_square()) {
    violations.Check(spec.columns.empty(), "columns", "a kernel on a square block has no columns");
    violations.Check(!spec.normalization.unit_diagonal, "normalization.unit_diagonal",
                     "not available for square blocks: the self-kernels of new rows are not known");
  }
  violations.Check(static_cast<uint8_t>(spec.normalization.scaling) < kNumScalings,
                   "normalization.scaling", "unknown scaling");
  return violations.ToStatus();
}

}  // namespace mercer
