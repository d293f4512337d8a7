// Which family of features, in what ranges: what a request says and a model keeps.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/features/feature_family.h"

namespace mercer {

enum class FeatureFamilyKind : uint8_t {
  kFourier = 0,  // cos v'x and sin v'x
  kGabor = 1,    // responses of a square patch to an oriented filter
  kColumns = 2,  // the columns of the data themselves
};

// The kernel that the mean of cos v'(x - z) over the frequencies v is.
enum class FourierKernel : uint8_t {
  kGaussian = 0,   // exp(-|x - z|^2 / (2 bandwidth^2)): v normal with variance 1 / bandwidth^2
  kLaplacian = 1,  // exp(-|x - z|_1 / bandwidth): entries of v Cauchy with scale 1 / bandwidth
};

enum class BandwidthDraw : uint8_t {
  kList = 0,        // `bandwidths`, all of them in each round
  kUniform = 1,     // `bandwidths_per_round` of them, uniform in [min_bandwidth, max_bandwidth]
  kLogUniform = 2,  // the same with a uniform logarithm
};

// A pixel of a patch, both counted from 0.
struct PatchPosition {
  int64_t row = 0;
  int64_t column = 0;

  friend bool operator==(const PatchPosition&, const PatchPosition&) = default;
};

// Saved as one list of rows and columns in turn. A number without a column is damage.
void WritePositions(const std::vector<PatchPosition>& positions, ByteWriter& writer);
std::vector<PatchPosition> ReadPositions(ByteReader& reader);

struct FeatureFamilySpec {
  FeatureFamilyKind kind = FeatureFamilyKind::kFourier;

  // The fields up to candidates_per_bandwidth are for Fourier features, whose inputs should be
  // standardised.
  FourierKernel kernel = FourierKernel::kGaussian;
  BandwidthDraw bandwidth_draw = BandwidthDraw::kList;
  std::vector<double> bandwidths = {1.0};  // kList: each > 0
  double min_bandwidth = 0;                // else: 0 < min <= max
  double max_bandwidth = 0;
  int64_t bandwidths_per_round = 20;  // else: >= 1
  // Frequencies drawn per round for each bandwidth, >= 1. With 59, which is ln 0.05 / ln 0.95
  // rounded up, the best of them lies among the best 5 % of the family with probability 0.95.
  int64_t candidates_per_bandwidth = 50;

  // Gabor. A row is a patch of patch_size x patch_size pixels, row by row.
  int64_t patch_size = 0;          // 0: the square root of the number of inputs
  int64_t positions_per_side = 4;  // the filter is centred at the middle of each cell of a grid
  std::vector<PatchPosition> positions;  // these instead; empty: the grid
  bool subtract_patch_mean = true;       // from each patch, before the filter
  double min_scale = 1;                  // of the filter's two widths, log-uniform, in pixels
  double max_scale = 0;                  // 0: half the patch
  double min_frequency = 0.02;           // of the filter's wave, per pixel, uniform
  double max_frequency = 0.5;
  int64_t candidates = 81;  // drawn per round, >= 1

  friend bool operator==(const FeatureFamilySpec&, const FeatureFamilySpec&) = default;

  // The fields of other kinds may hold anything.
  static void VisitFields(auto& visit, auto& self) {
    visit(
        UpTo(self.kind, FeatureFamilyKind::kColumns), UpTo(self.kernel, FourierKernel::kLaplacian),
        UpTo(self.bandwidth_draw, BandwidthDraw::kLogUniform), self.bandwidths, self.min_bandwidth,
        self.max_bandwidth, AnyInteger(self.bandwidths_per_round),
        AnyInteger(self.candidates_per_bandwidth), AnyInteger(self.patch_size),
        AnyInteger(self.positions_per_side), Custom(self.positions, WritePositions, ReadPositions),
        self.subtract_patch_mean, self.min_scale, self.max_scale, self.min_frequency,
        self.max_frequency, AnyInteger(self.candidates));
  }
};

inline constexpr int64_t kMaxCandidatesPerRound = 100'000;

// Errors: kInvalidArgument, violations name the field of the spec.
absl::Status CheckFeatureFamilySpec(const FeatureFamilySpec& spec);
// The family over rows of `num_inputs` columns. Errors: those of CheckFeatureFamilySpec; a number
// of inputs that is no patch, or 0.
absl::StatusOr<std::shared_ptr<const FeatureFamily>> MakeFeatureFamily(
    const FeatureFamilySpec& spec, Index num_inputs);

}  // namespace mercer
