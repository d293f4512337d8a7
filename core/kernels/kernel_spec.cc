#include "core/kernels/kernel_spec.h"

#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/errors.h"
#include "core/kernels/kernel_source.h"

namespace mercer {
namespace {

constexpr uint8_t kNumTypes = 8;
constexpr uint8_t kNumScalings = 5;
constexpr int kMaxDegree = 20;

// The shortest text that reads back as the same number.
std::string Shortest(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  return std::string(buffer, end);
}

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

std::string_view KernelTypeName(KernelType type) {
  switch (type) {
    case KernelType::kLinear:
      return "linear";
    case KernelType::kPolynomial:
      return "polynomial";
    case KernelType::kGaussian:
      return "gaussian";
    case KernelType::kLaplacian:
      return "laplacian";
    case KernelType::kChiSquare:
      return "chi_square";
    case KernelType::kEuclidean:
      return "euclidean";
    case KernelType::kPrecomputed:
      return "precomputed";
    case KernelType::kDistance:
      return "distance";
  }
  return "unknown";
}

std::string KernelName(const KernelSpec& spec) {
  std::vector<std::string> parts;
  if (HasBandwidth(spec.type)) {
    parts.push_back(absl::StrCat("bandwidth=", Shortest(spec.bandwidth)));
  }
  if (spec.type == KernelType::kPolynomial) {
    parts.push_back(absl::StrCat("degree=", spec.degree));
    parts.push_back(absl::StrCat("scale=", Shortest(spec.scale)));
    parts.push_back(absl::StrCat("offset=", Shortest(spec.offset)));
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

absl::Status ValidateKernelSpec(const KernelSpec& spec) {
  FieldViolations violations;
  if (static_cast<uint8_t>(spec.type) >= kNumTypes) {
    violations.Add("type", "unknown kernel type");
    return violations.ToStatus();
  }
  if (HasBandwidth(spec.type)) {
    violations.Check(spec.bandwidth > 0 && std::isfinite(spec.bandwidth), "bandwidth",
                     absl::StrCat("must be > 0 and finite, is ", spec.bandwidth));
  }
  if (spec.type == KernelType::kPolynomial) {
    violations.Check(spec.degree >= 1 && spec.degree <= kMaxDegree, "degree",
                     absl::StrCat("must be in 1 .. ", kMaxDegree, ", is ", spec.degree));
    violations.Check(spec.scale > 0 && std::isfinite(spec.scale), "scale",
                     absl::StrCat("must be > 0 and finite, is ", spec.scale));
    violations.Check(spec.offset >= 0 && std::isfinite(spec.offset), "offset",
                     absl::StrCat("must be >= 0 and finite, is ", spec.offset));
  }
  if (IsSquareType(spec.type)) {
    violations.Check(spec.columns.empty(), "columns", "a kernel on a square block has no columns");
    violations.Check(!spec.normalization.unit_diagonal, "normalization.unit_diagonal",
                     "not available for square blocks: the self-kernels of new rows are not known");
  }
  violations.Check(static_cast<uint8_t>(spec.normalization.scaling) < kNumScalings,
                   "normalization.scaling", "unknown scaling");
  return violations.ToStatus();
}

void SaveKernelSpec(const KernelSpec& spec, ByteWriter& writer) {
  writer.WriteUint8(static_cast<uint8_t>(spec.type));
  writer.WriteDouble(spec.bandwidth);
  writer.WriteInt64(spec.degree);
  writer.WriteDouble(spec.scale);
  writer.WriteDouble(spec.offset);
  writer.WriteString(spec.block);
  writer.WriteStrings(spec.columns);
  writer.WriteBool(spec.normalization.unit_diagonal);
  writer.WriteUint8(static_cast<uint8_t>(spec.normalization.scaling));
}

KernelSpec LoadKernelSpec(ByteReader& reader) {
  KernelSpec spec;
  const uint8_t type = reader.ReadUint8();
  spec.bandwidth = reader.ReadDouble();
  const int64_t degree = reader.ReadInt64();
  spec.scale = reader.ReadDouble();
  spec.offset = reader.ReadDouble();
  spec.block = reader.ReadString();
  spec.columns = reader.ReadStrings();
  spec.normalization.unit_diagonal = reader.ReadBool();
  const uint8_t scaling = reader.ReadUint8();
  if (type >= kNumTypes || scaling >= kNumScalings || degree < 0 || degree > INT32_MAX) {
    reader.Fail();
    return KernelSpec();
  }
  spec.type = static_cast<KernelType>(type);
  spec.degree = static_cast<int>(degree);
  spec.normalization.scaling = static_cast<KernelScaling>(scaling);
  return spec;
}

}  // namespace mercer
