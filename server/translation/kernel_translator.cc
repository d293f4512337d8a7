#include "server/translation/kernel_translator.h"

#include "absl/strings/str_cat.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "core/kernels/spec/kernel_formula.h"
#include "server/translation/enum_translator.h"

namespace mercer::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

static_assert(Agree(v1::KERNEL_SCALING_NONE, KernelScaling::kNone));
static_assert(Agree(v1::KERNEL_SCALING_CENTRED_TRACE, KernelScaling::kCentredTrace));
static_assert(Agree(v1::BANDWIDTH_RULE_LIST, BandwidthRule::kList));
static_assert(Agree(v1::BANDWIDTH_RULE_MEDIAN_MULTIPLES, BandwidthRule::kMedianMultiples));

void WriteNormalization(const KernelNormalization& normalization,
                        v1::KernelNormalization& message) {
  message.set_unit_diagonal(normalization.unit_diagonal);
  message.set_scaling(ToApiEnum<v1::KernelScaling>(normalization.scaling));
}

KernelType TypeOf(const v1::KernelGrid& grid) { return ToCoreEnum(grid.type(), KernelType{}); }

// The message's field of a parameter; of type double or int32.
const FieldDescriptor& FieldOf(const Message& message, const KernelParameter& parameter) {
  return *message.GetDescriptor()->FindFieldByName(std::string(parameter.name));
}

double ReadParameter(const Message& message, const KernelParameter& parameter) {
  const FieldDescriptor& field = FieldOf(message, parameter);
  return field.cpp_type() == FieldDescriptor::CPPTYPE_INT32
             ? message.GetReflection()->GetInt32(message, &field)
             : message.GetReflection()->GetDouble(message, &field);
}

void WriteParameter(const KernelSpec& spec, const KernelParameter& parameter, Message& message) {
  const FieldDescriptor& field = FieldOf(message, parameter);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
    message.GetReflection()->SetInt32(&message, &field, static_cast<int>(parameter.Of(spec)));
  } else {
    message.GetReflection()->SetDouble(&message, &field, parameter.Of(spec));
  }
}

bool IsGiven(const Message& message, const KernelParameter& parameter) {
  return message.GetReflection()->HasField(message, &FieldOf(message, parameter));
}

// "polynomial kernels", or "kernels with a bandwidth" where several have the parameter.
std::string KernelsWith(const KernelParameter& parameter) {
  std::string only;
  for (const KernelFormula& formula : AllFormulas()) {
    if (formula.has(parameter.name)) {
      only = only.empty() ? std::string(formula.name) + " kernels"
                          : "kernels with a " + std::string(parameter.name);
    }
  }
  return only;
}

bool HasRange(const v1::KernelGrid& grid) {
  return grid.min_bandwidth() != 0 || grid.max_bandwidth() != 0 || grid.count() != 0;
}

// Parameters that would be ignored are refused.
void RefuseUnusedFields(const v1::KernelGrid& grid, const std::string& path,
                        FieldViolations& violations) {
  const KernelFormula& formula = FormulaOf(TypeOf(grid));
  const auto refuse = [&](bool given, const std::string& field, const std::string& only) {
    if (given) {
      violations.Add(absl::StrCat(path, ".", field), absl::StrCat("is only for ", only));
    }
  };
  for (const KernelParameter& parameter : AllKernelParameters()) {
    refuse(IsGiven(grid, parameter) && !formula.has(parameter.name), std::string(parameter.name),
           KernelsWith(parameter));
  }
  const bool has_width = formula.has_bandwidth();
  const char* kWidth = "kernels with a bandwidth";
  refuse(grid.bandwidths_size() > 0 && !has_width, "bandwidths", kWidth);
  const bool log_spaced = grid.rule() == v1::BANDWIDTH_RULE_LOG_SPACED;
  refuse(grid.rule() > v1::BANDWIDTH_RULE_LIST && !has_width, "rule", kWidth);
  const bool list = grid.rule() <= v1::BANDWIDTH_RULE_LIST;
  const char* kRange = "rules LOG_SPACED and MEDIAN_MULTIPLES";
  refuse(grid.min_bandwidth() != 0 && list, "min_bandwidth", kRange);
  refuse(grid.max_bandwidth() != 0 && list, "max_bandwidth", kRange);
  refuse(grid.count() != 0 && list, "count", kRange);
  refuse(grid.bandwidths_size() > 0 && log_spaced, "bandwidths", "the other rules");
  refuse(grid.bandwidths_size() > 0 && !list && !log_spaced && HasRange(grid), "bandwidths",
         "families without min_bandwidth, max_bandwidth and count");
  refuse(grid.has_bandwidth() && !list, "bandwidth", "rule LIST");
  refuse(grid.has_bandwidth() && list && grid.bandwidths_size() > 0, "bandwidth",
         "an empty list `bandwidths`");
}

}  // namespace

KernelGrid ReadKernelGrid(const v1::KernelGrid& grid, const std::string& path,
                          FieldViolations& violations) {
  KernelGrid result;
  if (grid.type() == v1::KERNEL_TYPE_UNSPECIFIED) {
    violations.Add(absl::StrCat(path, ".type"), "is missing");
    return result;
  }
  RefuseUnusedFields(grid, path, violations);
  KernelSpec& spec = result.prototype;
  spec.type = TypeOf(grid);
  for (const KernelParameter& parameter : AllKernelParameters()) {
    if (IsGiven(grid, parameter)) {
      parameter.Set(ReadParameter(grid, parameter), spec);
    }
  }
  spec.labels = {.name = grid.name(), .group = grid.group()};
  spec.block = grid.block();
  spec.columns.assign(grid.columns().begin(), grid.columns().end());
  spec.normalization.unit_diagonal = grid.normalization().unit_diagonal();
  spec.normalization.scaling =
      ToCoreEnum(grid.normalization().scaling(), spec.normalization.scaling);
  result.rule = ToCoreEnum(grid.rule(), result.rule);
  result.bandwidths.assign(grid.bandwidths().begin(), grid.bandwidths().end());
  if (result.rule == BandwidthRule::kMedianMultiples && result.bandwidths.empty() &&
      !HasRange(grid)) {
    result.bandwidths = {1.0};
  }
  result.min_bandwidth = grid.min_bandwidth();
  result.max_bandwidth = grid.max_bandwidth();
  result.count = grid.count();
  result.per_column = grid.per_column();
  return result;
}

void CompleteKernelGrid(v1::KernelGrid& grid) {
  if (FormulaOf(TypeOf(grid)).has_bandwidth() && grid.rule() <= v1::BANDWIDTH_RULE_LIST &&
      !grid.has_bandwidth() && grid.bandwidths().empty()) {
    grid.set_rule(v1::BANDWIDTH_RULE_MEDIAN_MULTIPLES);
    grid.add_bandwidths(1.0);
  }
}

v1::KernelGrid WriteKernelGrid(const KernelGrid& grid) {
  v1::KernelGrid message;
  const KernelSpec& spec = grid.prototype;
  message.set_type(ToApiEnum<v1::KernelType>(spec.type));
  const KernelFormula& formula = FormulaOf(spec.type);
  for (const KernelParameter& parameter : formula.parameters) {
    if (parameter.real != &KernelSpec::bandwidth) {
      WriteParameter(spec, parameter, message);
    }
  }
  message.set_name(spec.labels.name);
  message.set_group(spec.labels.group);
  message.set_block(spec.block);
  message.mutable_columns()->Assign(spec.columns.begin(), spec.columns.end());
  if (spec.normalization != KernelNormalization()) {
    WriteNormalization(spec.normalization, *message.mutable_normalization());
  }
  if (formula.has_bandwidth()) {
    message.set_rule(ToApiEnum<v1::BandwidthRule>(grid.rule));
    message.mutable_bandwidths()->Assign(grid.bandwidths.begin(), grid.bandwidths.end());
    if (grid.rule == BandwidthRule::kList && grid.bandwidths.empty()) {
      message.set_bandwidth(spec.bandwidth);
    }
    message.set_min_bandwidth(grid.min_bandwidth);
    message.set_max_bandwidth(grid.max_bandwidth);
    message.set_count(grid.count);
  }
  message.set_per_column(grid.per_column);
  return message;
}

v1::Kernel WriteKernel(const KernelSpec& spec) {
  v1::Kernel kernel;
  kernel.set_type(ToApiEnum<v1::KernelType>(spec.type));
  for (const KernelParameter& parameter : AllKernelParameters()) {
    WriteParameter(spec, parameter, kernel);
  }
  kernel.set_block(spec.block);
  kernel.mutable_columns()->Assign(spec.columns.begin(), spec.columns.end());
  WriteNormalization(spec.normalization, *kernel.mutable_normalization());
  kernel.set_display_name(KernelName(spec));
  kernel.set_name(spec.labels.name);
  kernel.set_group(spec.labels.group);
  return kernel;
}

}  // namespace mercer::server
