#include "core/features/feature_family_spec.h"

#include <cmath>
#include <string_view>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/features/column_family.h"
#include "core/features/fourier_family.h"
#include "core/features/gabor_family.h"

namespace mercer {
namespace {

constexpr uint8_t kNumKernels = 2;
constexpr uint8_t kNumDraws = 3;
constexpr int64_t kMaxPositionsPerSide = 64;

bool IsPositive(double value) { return value > 0 && std::isfinite(value); }

void CheckCount(int64_t count, std::string_view field, FieldViolations& violations) {
  violations.Check(count >= 1 && count <= kMaxCandidatesPerRound, field,
                   absl::StrCat("must be in 1 .. ", kMaxCandidatesPerRound, ", is ", count));
}

void CheckBandwidths(const FeatureFamilySpec& spec, FieldViolations& violations) {
  if (spec.bandwidth_draw == BandwidthDraw::kList) {
    violations.Check(!spec.bandwidths.empty(), "bandwidths", "must name at least one");
    for (size_t b = 0; b < spec.bandwidths.size(); ++b) {
      violations.Check(IsPositive(spec.bandwidths[b]), absl::StrCat("bandwidths[", b, "]"),
                       absl::StrCat("must be > 0 and finite, is ", spec.bandwidths[b]));
    }
    return;
  }
  violations.Check(IsPositive(spec.min_bandwidth), "min_bandwidth",
                   absl::StrCat("must be > 0 and finite, is ", spec.min_bandwidth));
  violations.Check(std::isfinite(spec.max_bandwidth) && spec.max_bandwidth >= spec.min_bandwidth,
                   "max_bandwidth",
                   absl::StrCat("must be >= min_bandwidth and finite, is ", spec.max_bandwidth));
  CheckCount(spec.bandwidths_per_round, "bandwidths_per_round", violations);
}

void CheckFourier(const FeatureFamilySpec& spec, FieldViolations& violations) {
  violations.Check(static_cast<uint8_t>(spec.kernel) < kNumKernels, "kernel", "unknown kernel");
  if (!violations.Check(static_cast<uint8_t>(spec.bandwidth_draw) < kNumDraws, "bandwidth_draw",
                        "unknown way to draw bandwidths")) {
    return;
  }
  CheckBandwidths(spec, violations);
  CheckCount(spec.candidates_per_bandwidth, "candidates_per_bandwidth", violations);
  const bool list = spec.bandwidth_draw == BandwidthDraw::kList;
  const int64_t bandwidths =
      list ? static_cast<int64_t>(spec.bandwidths.size()) : spec.bandwidths_per_round;
  violations.Check(
      !violations.empty() || bandwidths <= kMaxCandidatesPerRound / spec.candidates_per_bandwidth,
      "candidates_per_bandwidth",
      absl::StrCat("times the number of bandwidths must be at most ", kMaxCandidatesPerRound,
                   ", there are ", bandwidths));
}

void CheckGabor(const FeatureFamilySpec& spec, FieldViolations& violations) {
  constexpr int64_t kLargestPatch = 4096;
  violations.Check(spec.patch_size >= 0 && spec.patch_size <= kLargestPatch, "patch_size",
                   absl::StrCat("must be in 0 .. ", kLargestPatch, ", is ", spec.patch_size));
  violations.Check(
      !spec.positions.empty() ||
          (spec.positions_per_side >= 1 && spec.positions_per_side <= kMaxPositionsPerSide),
      "positions_per_side",
      absl::StrCat("must be in 1 .. ", kMaxPositionsPerSide, ", is ", spec.positions_per_side));
  violations.Check(
      static_cast<int64_t>(spec.positions.size()) <= kMaxPositionsPerSide * kMaxPositionsPerSide,
      "positions",
      absl::StrCat("must be at most ", kMaxPositionsPerSide * kMaxPositionsPerSide, ", are ",
                   spec.positions.size()));
  violations.Check(IsPositive(spec.min_scale), "min_scale",
                   absl::StrCat("must be > 0 and finite, is ", spec.min_scale));
  violations.Check(
      spec.max_scale == 0 || (std::isfinite(spec.max_scale) && spec.max_scale >= spec.min_scale),
      "max_scale", absl::StrCat("must be >= min_scale and finite, is ", spec.max_scale));
  violations.Check(std::isfinite(spec.min_frequency) && spec.min_frequency >= 0, "min_frequency",
                   absl::StrCat("must be >= 0 and finite, is ", spec.min_frequency));
  violations.Check(std::isfinite(spec.max_frequency) && spec.max_frequency >= spec.min_frequency,
                   "max_frequency",
                   absl::StrCat("must be >= min_frequency and finite, is ", spec.max_frequency));
  CheckCount(spec.candidates, "candidates", violations);
}

}  // namespace

absl::Status CheckFeatureFamilySpec(const FeatureFamilySpec& spec) {
  FieldViolations violations;
  switch (spec.kind) {
    case FeatureFamilyKind::kFourier:
      CheckFourier(spec, violations);
      break;
    case FeatureFamilyKind::kGabor:
      CheckGabor(spec, violations);
      break;
    case FeatureFamilyKind::kColumns:
      break;
    default:
      violations.Add("kind", "unknown family of features");
  }
  return violations.ToStatus();
}

absl::StatusOr<std::shared_ptr<const FeatureFamily>> MakeFeatureFamily(
    const FeatureFamilySpec& spec, Index num_inputs) {
  MERCER_RETURN_IF_ERROR(CheckFeatureFamilySpec(spec));
  if (num_inputs < 1) {
    return absl::InvalidArgumentError("features need at least one input column");
  }
  if (spec.kind == FeatureFamilyKind::kFourier) {
    return std::make_shared<const FourierFamily>(spec, num_inputs);
  }
  if (spec.kind == FeatureFamilyKind::kGabor) {
    MERCER_RETURN_IF_ERROR(GaborFamily::Check(spec, num_inputs));
    return std::make_shared<const GaborFamily>(spec, num_inputs);
  }
  return std::make_shared<const ColumnFamily>(num_inputs);
}

void WritePositions(const std::vector<PatchPosition>& positions, ByteWriter& writer) {
  std::vector<Index> numbers;
  for (const PatchPosition& position : positions) {
    numbers.push_back(position.row);
    numbers.push_back(position.column);
  }
  writer.WriteIndices(numbers);
}

std::vector<PatchPosition> ReadPositions(ByteReader& reader) {
  const std::vector<Index> numbers = reader.ReadIndices();
  if (numbers.size() % 2 != 0) {
    reader.Fail();
  }
  std::vector<PatchPosition> positions;
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
    positions.push_back({numbers[i], numbers[i + 1]});
  }
  return positions;
}

}  // namespace mercer
