#include "core/features/gabor_family.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/random.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/features/projections.h"

namespace mercer {
namespace {

constexpr size_t kNumParameters = 4;
constexpr int64_t kPollCandidates = 4096;

struct GaborFilter {
  explicit GaborFilter(absl::Span<const double> parameters)
      : scale_z(parameters[0]),
        scale_y(parameters[1]),
        frequency(parameters[2]),
        cosine(std::cos(parameters[3])),
        sine(std::sin(parameters[3])) {}

  double operator()(double z, double y) const {
    const double along = z * cosine + y * sine;
    const double across = -z * sine + y * cosine;
    const double distance =
        along * along / (2 * scale_z * scale_z) + across * across / (2 * scale_y * scale_y);
    return std::exp(-distance) * std::cos(2 * std::numbers::pi * frequency * along);
  }

  double scale_z;
  double scale_y;
  double frequency;
  double cosine;
  double sine;
};

// The side of a patch of so many pixels; 0 when there is none.
Index PatchSide(Index num_inputs) {
  const auto side = static_cast<Index>(std::llround(std::sqrt(static_cast<double>(num_inputs))));
  return side * side == num_inputs ? side : 0;
}

double MaxScale(const FeatureFamilySpec& spec, Index size) {
  return spec.max_scale > 0 ? spec.max_scale : static_cast<double>(size) / 2;
}

// The middles of the cells of a grid over the patch.
std::vector<PatchPosition> GridPositions(Index size, Index per_side) {
  std::vector<PatchPosition> positions;
  const auto middle = [&](Index cell) { return (2 * cell + 1) * size / (2 * per_side); };
  for (Index row = 0; row < per_side; ++row) {
    for (Index column = 0; column < per_side; ++column) {
      positions.push_back({middle(row), middle(column)});
    }
  }
  return positions;
}

Index PaddedCount(Index positions) {
  return (positions + kProjectionWidth - 1) / kProjectionWidth * kProjectionWidth;
}

// A filter at each difference of two pixels of a patch; the difference 0 is in the middle.
Matrix FilterOffsets(const GaborFilter& filter, Index size) {
  Matrix offsets(2 * size - 1, 2 * size - 1);
  for (Index y = 0; y < offsets.cols(); ++y) {
    for (Index z = 0; z < offsets.rows(); ++z) {
      offsets(z, y) = filter(static_cast<double>(z - size + 1), static_cast<double>(y - size + 1));
    }
  }
  return offsets;
}

// The part of them that a patch sees of a filter at `position`, row by row.
RowMatrix FilterAt(const Matrix& offsets, const PatchPosition& position) {
  const Index size = (offsets.rows() + 1) / 2;
  return offsets.block(size - 1 - position.row, size - 1 - position.column, size, size);
}

// The filter at each position, one column each, pixels row by row.
class GaborMap : public FeatureMap {
 public:
  GaborMap(const Matrix& filters, Index per_group)
      : filters_(filters), single_filters_(filters), per_group_(per_group) {}

  Index num_inputs() const override { return filters_.num_inputs(); }
  Index num_columns() const override { return filters_.count() / per_group_; }
  void Evaluate(ConstRowMatrixRef rows, MatrixRef out) const override {
    AbsoluteSums(filters_, per_group_, rows, out);
  }
  void Evaluate(ConstRowMatrixRef rows, SingleMatrixRef out) const override {
    AbsoluteSums(single_filters_, per_group_, rows, out);
  }

 private:
  ProjectionVectors<double> filters_;
  ProjectionVectors<float> single_filters_;
  Index per_group_;
};

// Values from `low` to `high`: at equal distances, or equal ratios.
std::vector<double> Spaced(double low, double high, int64_t count, bool ratios) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    const double part = count == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(count - 1);
    values.push_back(ratios ? low * std::pow(high / low, part) : low + (high - low) * part);
  }
  return values;
}

}  // namespace

absl::Status GaborFamily::Check(const FeatureFamilySpec& spec, Index num_inputs) {
  FieldViolations violations;
  const Index size = spec.patch_size > 0 ? spec.patch_size : PatchSide(num_inputs);
  if (size == 0 || num_inputs / size != size || num_inputs % size != 0) {
    violations.Add("patch_size",
                   absl::StrCat("rows of ", num_inputs, " columns are no square patches",
                                size > 0 ? absl::StrCat(" of side ", size) : ""));
    return violations.ToStatus();
  }
  violations.Check(
      !spec.positions.empty() || spec.positions_per_side <= size, "positions_per_side",
      absl::StrCat("must be at most the patch's side, ", size, ", is ", spec.positions_per_side));
  for (size_t p = 0; p < spec.positions.size(); ++p) {
    const PatchPosition& position = spec.positions[p];
    violations.Check(std::min(position.row, position.column) >= 0 &&
                         std::max(position.row, position.column) < size,
                     absl::StrCat("positions[", p, "]"),
                     absl::StrCat("must lie within the patch, whose side is ", size));
  }
  violations.Check(
      MaxScale(spec, size) >= spec.min_scale, "max_scale",
      absl::StrCat("must be at least min_scale, ", spec.min_scale, ", is ", MaxScale(spec, size)));
  return violations.ToStatus();
}

GaborFamily::GaborFamily(const FeatureFamilySpec& spec, Index num_inputs)
    : spec_(spec),
      size_(PatchSide(num_inputs)),
      max_scale_(MaxScale(spec, size_)),
      positions_(spec.positions.empty() ? GridPositions(size_, spec.positions_per_side)
                                        : spec.positions) {}

std::vector<std::string> GaborFamily::parameter_names() const {
  return {"scale_z", "scale_y", "frequency", "angle"};
}

absl::StatusOr<std::vector<FeatureParameters>> GaborFamily::Draw(uint64_t seed, uint64_t round,
                                                                 const RunContext& context) const {
  const std::string purpose = absl::StrCat("gabor/", round);
  const double ratio = std::log(max_scale_ / spec_.min_scale);
  std::vector<FeatureParameters> candidates;
  candidates.reserve(static_cast<size_t>(spec_.candidates));
  for (int64_t c = 0; c < spec_.candidates; ++c) {
    if (c % kPollCandidates == 0) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    }
    RandomStream stream(seed, purpose, static_cast<uint64_t>(c));
    const double scale_z = spec_.min_scale * std::exp(ratio * stream.Uniform());
    const double scale_y = spec_.min_scale * std::exp(ratio * stream.Uniform());
    const double frequency =
        spec_.min_frequency + (spec_.max_frequency - spec_.min_frequency) * stream.Uniform();
    candidates.push_back({scale_z, scale_y, frequency, std::numbers::pi * stream.Uniform()});
  }
  return candidates;
}

absl::Status GaborFamily::CheckParameters(absl::Span<const double> parameters) const {
  if (parameters.size() != kNumParameters) {
    return absl::InvalidArgumentError(
        absl::StrCat("a Gabor filter has 4 parameters, not ", parameters.size()));
  }
  for (const double parameter : parameters) {
    if (!std::isfinite(parameter)) {
      return absl::InvalidArgumentError("the parameters of a Gabor filter must be finite");
    }
  }
  if (parameters[0] <= 0 || parameters[1] <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("the scales of a Gabor filter must be > 0, are ",
                                                   parameters[0], " and ", parameters[1]));
  }
  if (parameters[2] < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the frequency of a Gabor filter must be >= 0, is ", parameters[2]));
  }
  return absl::OkStatus();
}

std::unique_ptr<const FeatureMap> GaborFamily::Bind(
    absl::Span<const FeatureParameters> groups) const {
  const Index per_group = PaddedCount(static_cast<Index>(positions_.size()));
  Matrix filters = Matrix::Zero(num_inputs(), per_group * static_cast<Index>(groups.size()));
  for (size_t g = 0; g < groups.size(); ++g) {
    const Matrix offsets = FilterOffsets(GaborFilter(groups[g]), size_);
    for (size_t p = 0; p < positions_.size(); ++p) {
      RowMatrix filter = FilterAt(offsets, positions_[p]);
      if (spec_.subtract_patch_mean) {
        // (patch - its mean)'filter = patch'(filter - its mean). Taken here, where the filter
        // begins at an aligned address: the bits of a sum may depend on that.
        filter.array() -= filter.mean();
      }
      filters.col(static_cast<Index>(g) * per_group + static_cast<Index>(p)) =
          Eigen::Map<const Vector>(filter.data(), filter.size());
    }
  }
  return std::make_unique<const GaborMap>(filters, per_group);
}

Index GaborFamily::work_per_row() const {
  return num_inputs() * PaddedCount(static_cast<Index>(positions_.size()));
}

std::vector<FeatureParameters> GaborFamily::Grid(int64_t per_parameter) const {
  const std::vector<double> scales = Spaced(spec_.min_scale, max_scale_, per_parameter, true);
  const std::vector<double> frequencies =
      Spaced(spec_.min_frequency, spec_.max_frequency, per_parameter, false);
  const auto count = static_cast<size_t>(per_parameter);
  std::vector<FeatureParameters> groups;
  for (size_t i = 0; i < count * count * count * count; ++i) {
    const double angle =
        std::numbers::pi * static_cast<double>(i % count) / static_cast<double>(count);
    groups.push_back({scales[i / (count * count * count)], scales[i / (count * count) % count],
                      frequencies[i / count % count], angle});
  }
  return groups;
}

}  // namespace mercer
