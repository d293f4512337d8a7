#include "core/features/fourier_family.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/random.h"
#include "core/base/status/status_macros.h"
#include "core/features/projections.h"

namespace mercer {
namespace {

constexpr Index kPollNumbers = 1 << 18;  // that are drawn, a few milliseconds

// The frequencies of `groups`, inputs x groups.
Matrix Frequencies(absl::Span<const FeatureParameters> groups, Index num_inputs) {
  Matrix frequencies(num_inputs, static_cast<Index>(groups.size()));
  for (Index g = 0; g < frequencies.cols(); ++g) {
    const FeatureParameters& group = groups[static_cast<size_t>(g)];
    for (Index k = 0; k < num_inputs; ++k) {
      frequencies(k, g) = group[static_cast<size_t>(k) + 1];
    }
  }
  return frequencies;
}

class FourierMap : public FeatureMap {
 public:
  FourierMap(absl::Span<const FeatureParameters> groups, Index num_inputs)
      : frequencies_(Frequencies(groups, num_inputs)) {}

  Index num_inputs() const override { return frequencies_.num_inputs(); }
  Index num_columns() const override { return 2 * frequencies_.count(); }
  void Evaluate(ConstRowMatrixRef rows, MatrixRef out) const override {
    CosinesAndSines(frequencies_, rows, out);
  }
  void Evaluate(ConstRowMatrixRef rows, SingleMatrixRef out) const override {
    CosinesAndSines(frequencies_, rows, out);
  }

 private:
  ProjectionVectors<double> frequencies_;
};

}  // namespace

FourierFamily::FourierFamily(const FeatureFamilySpec& spec, Index num_inputs)
    : spec_(spec), num_inputs_(num_inputs) {}

std::vector<std::string> FourierFamily::parameter_names() const {
  std::vector<std::string> names = {"bandwidth"};
  for (Index k = 1; k <= num_inputs_; ++k) {
    names.push_back(absl::StrCat("frequency_", k));
  }
  return names;
}

std::vector<double> FourierFamily::Bandwidths(uint64_t seed, uint64_t round) const {
  if (spec_.bandwidth_draw == BandwidthDraw::kList) {
    return spec_.bandwidths;
  }
  const bool logarithmic = spec_.bandwidth_draw == BandwidthDraw::kLogUniform;
  const double low = logarithmic ? std::log(spec_.min_bandwidth) : spec_.min_bandwidth;
  const double high = logarithmic ? std::log(spec_.max_bandwidth) : spec_.max_bandwidth;
  const std::string purpose = absl::StrCat("fourier-bandwidth/", round);
  std::vector<double> bandwidths;
  for (int64_t b = 0; b < spec_.bandwidths_per_round; ++b) {
    RandomStream stream(seed, purpose, static_cast<uint64_t>(b));
    const double value = low + (high - low) * stream.Uniform();
    bandwidths.push_back(logarithmic ? std::exp(value) : value);
  }
  return bandwidths;
}

absl::StatusOr<std::vector<FeatureParameters>> FourierFamily::Draw(
    uint64_t seed, uint64_t round, const RunContext& context) const {
  const std::vector<double> bandwidths = Bandwidths(seed, round);
  const Index poll = std::max<Index>(1, kPollNumbers / (num_inputs_ + 1));
  std::vector<FeatureParameters> candidates;
  candidates.reserve(bandwidths.size() * static_cast<size_t>(spec_.candidates_per_bandwidth));
  for (size_t b = 0; b < bandwidths.size(); ++b) {
    const std::string purpose = absl::StrCat("fourier-frequency/", round, "/", b);
    for (int64_t c = 0; c < spec_.candidates_per_bandwidth; ++c) {
      if (static_cast<Index>(candidates.size()) % poll == 0) {
        MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      }
      candidates.push_back(
          DrawOne(bandwidths[b], RandomStream(seed, purpose, static_cast<uint64_t>(c))));
    }
  }
  return candidates;
}

FeatureParameters FourierFamily::DrawOne(double bandwidth, RandomStream stream) const {
  FeatureParameters group;
  group.reserve(static_cast<size_t>(num_inputs_) + 1);
  group.push_back(bandwidth);
  for (Index k = 0; k < num_inputs_; ++k) {
    // The spectral density of the Laplacian kernel is a product of Cauchy densities. A Cauchy
    // number is the tangent of a uniform angle: the inverse of its distribution function at a
    // uniform number.
    const double unit = spec_.kernel == FourierKernel::kGaussian
                            ? stream.Normal()
                            : std::tan(std::numbers::pi * (stream.Uniform() - 0.5));
    group.push_back(unit / bandwidth);
  }
  return group;
}

absl::Status FourierFamily::CheckParameters(absl::Span<const double> parameters) const {
  if (parameters.size() != static_cast<size_t>(num_inputs_) + 1) {
    return absl::InvalidArgumentError(absl::StrCat("a Fourier pair over ", num_inputs_,
                                                   " inputs has ", num_inputs_ + 1,
                                                   " parameters, not ", parameters.size()));
  }
  for (const double parameter : parameters) {
    if (!std::isfinite(parameter)) {
      return absl::InvalidArgumentError("the parameters of a Fourier pair must be finite");
    }
  }
  if (parameters[0] <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the bandwidth of a Fourier pair must be > 0, is ", parameters[0]));
  }
  return absl::OkStatus();
}

std::unique_ptr<const FeatureMap> FourierFamily::Bind(
    absl::Span<const FeatureParameters> groups) const {
  return std::make_unique<const FourierMap>(groups, num_inputs_);
}

// Of cosine and sine in v: -x sin v'x and x cos v'x.
Vector FourierFamily::Derivative(ConstRowMatrixRef rows, ConstMatrixRef values,
                                 ConstMatrixRef coefficients) const {
  Vector derivative = Vector::Zero(num_inputs_);
  for (Index i = 0; i < rows.rows(); ++i) {
    const double factor = values(i, 0) * coefficients(i, 1) - values(i, 1) * coefficients(i, 0);
    derivative += factor * rows.row(i).transpose();
  }
  return derivative;
}

Vector FourierFamily::Place(const FeatureParameters& group) const {
  return Eigen::Map<const Vector>(group.data() + 1, num_inputs_);
}

FeatureParameters FourierFamily::Moved(const FeatureParameters& group, const Vector& change) const {
  const Vector before = Place(group);
  Vector place = before + change;
  const double unit = before.norm() * group[0];
  double bandwidth = group[0];
  if (spec_.bandwidth_draw != BandwidthDraw::kList) {
    bandwidth = std::clamp(unit / place.norm(), spec_.min_bandwidth, spec_.max_bandwidth);
  }
  place *= unit / (bandwidth * place.norm());
  FeatureParameters moved = {bandwidth};
  moved.insert(moved.end(), place.begin(), place.end());
  return moved;
}

Index FourierFamily::work_per_row() const {
  constexpr Index kSineAndCosine = 20;
  return num_inputs_ + kSineAndCosine;
}

}  // namespace mercer
