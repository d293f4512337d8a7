#include "client/cpp/cli/filter_picture.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace mercer::client {
namespace {

constexpr int kSquare = 64;  // pixels of a filter's side
constexpr int kGap = 4;      // between two of them, white
constexpr int kWhite = 255;
constexpr int kParameters = 4;
constexpr int kMostFilters = 10'000;

struct Filter {
  double scale_z;
  double scale_y;
  double frequency;
  double angle;
  double importance;

  // As GaborFeatures of the API says; z and y in pixels of the patch, from the middle.
  double operator()(double z, double y) const {
    const double along = z * std::cos(angle) + y * std::sin(angle);
    const double across = -z * std::sin(angle) + y * std::cos(angle);
    return std::exp(-along * along / (2 * scale_z * scale_z) -
                    across * across / (2 * scale_y * scale_y)) *
           std::cos(2 * std::numbers::pi * frequency * along);
  }
};

// The largest norm of a feature's weights over the outputs; features are those of all terms in turn.
double Importance(const v1::FeatureWeights& features, int64_t feature) {
  const v1::Matrix& weights = features.weights();
  double largest = 0;
  for (int64_t o = 0; o < weights.columns(); ++o) {
    const int64_t at = feature * weights.columns() + o;
    largest = at < weights.values_size()
                  ? std::max(largest, std::abs(weights.values(static_cast<int>(at))))
                  : largest;
  }
  return largest;
}

// False when the message does not hold what it says. `first` is the number of the term's first feature.
bool AddFilters(const v1::FeatureTerm& term, const v1::FeatureWeights& weights, int64_t first,
                std::vector<Filter>& filters) {
  const v1::Matrix& parameters = term.gabor().filters();
  const int64_t count = parameters.rows();
  if (count < 0 || count > kMostFilters || parameters.columns() != kParameters ||
      parameters.values_size() != count * kParameters) {
    return false;
  }
  for (int g = 0; g < static_cast<int>(count); ++g) {
    const auto parameter = [&](int p) { return parameters.values(g * kParameters + p); };
    filters.push_back(
        {parameter(0), parameter(1), parameter(2), parameter(3), Importance(weights, first + g)});
  }
  return true;
}

void Draw(const Filter& filter, int64_t patch_size, Index row, Index column, GrayImage& image) {
  const double step = static_cast<double>(patch_size) / kSquare;
  for (Index i = 0; i < kSquare; ++i) {
    for (Index j = 0; j < kSquare; ++j) {
      const double z = step * (static_cast<double>(i) - (kSquare - 1) / 2.0);
      const double y = step * (static_cast<double>(j) - (kSquare - 1) / 2.0);
      const double gray = kWhite * (1 + filter(z, y)) / 2;
      image.pixels[static_cast<size_t>((row + i) * image.columns + column + j)] =
          static_cast<uint16_t>(std::lround(std::clamp(gray, 0.0, double{kWhite})));
    }
  }
}

}  // namespace

absl::StatusOr<GrayImage> DrawFilters(const v1::ModelVersion& model) {
  std::vector<Filter> filters;
  int64_t patch_size = 0;
  for (const v1::FeatureTerm& term : model.function().feature_terms()) {
    if (term.has_gabor()) {
      patch_size = term.gabor().patch_size();
      // A model has filters in all of its terms or in none.
      if (!AddFilters(term, model.feature_weights(), static_cast<int64_t>(filters.size()),
                      filters)) {
        return absl::InternalError("the server's answer holds filters that do not fit together");
      }
    }
  }
  if (filters.empty()) {
    return absl::FailedPreconditionError(
        "--picture: draws Gabor filters, and this model has chosen none");
  }
  std::stable_sort(filters.begin(), filters.end(),
                   [](const Filter& a, const Filter& b) { return a.importance > b.importance; });
  const auto count = static_cast<Index>(filters.size());
  const auto wide = static_cast<Index>(std::ceil(std::sqrt(static_cast<double>(count))));
  const Index high = (count + wide - 1) / wide;
  GrayImage image;
  image.rows = high * (kSquare + kGap) - kGap;
  image.columns = wide * (kSquare + kGap) - kGap;
  image.pixels.assign(static_cast<size_t>(image.rows * image.columns), kWhite);
  for (Index g = 0; g < count; ++g) {
    Draw(filters[static_cast<size_t>(g)], patch_size, g / wide * (kSquare + kGap),
         g % wide * (kSquare + kGap), image);
  }
  return image;
}

}  // namespace mercer::client
