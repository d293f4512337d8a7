#include "core/kernels/lowrank/fit_probes.h"

#include <cmath>
#include <vector>

#include "core/base/numeric/random.h"
#include "core/base/process/paced_check.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/matrix_products.h"

namespace mercer {
namespace {

constexpr Index kProbes = 8;

// Normal numbers for every feature and probe, times what makes a kernel's share of the mean.
Matrix ScaledDirections(const NystromFeatures& features, const Vector& scales, uint64_t seed) {
  RandomStream random(seed, "fit-probes");
  const auto counted = static_cast<double>((scales.array() > 0).count());
  Matrix directions(features.num_features(), kProbes);
  for (Index k = 0; k < features.num_kernels(); ++k) {
    const double scale = scales(k) > 0 ? scales(k) / std::sqrt(counted) : 0.0;
    for (Index i = features.first_feature(k); i < features.first_feature(k + 1); ++i) {
      for (Index p = 0; p < kProbes; ++p) {
        directions(i, p) = scale * random.Normal();
      }
    }
  }
  return directions;
}

}  // namespace

absl::StatusOr<FitProbes> FitProbes::Make(const NystromFeatures& features, ConstMatrixRef fit,
                                          const Vector& scales, uint64_t seed,
                                          RunContext& context) {
  FitProbes probes;
  const Matrix directions = ScaledDirections(features, scales, seed);
  probes.of_joint_.resize(fit.cols(), kProbes);
  MERCER_RETURN_IF_ERROR(TransposedProduct(fit, directions, probes.of_joint_, context));
  PacedCheck check(context);
  for (Index k = 0; k < features.num_kernels(); ++k) {
    const Matrix& map = features.map(k);
    MERCER_RETURN_IF_ERROR(check.After(map.size() * kProbes));
    probes.of_landmarks_.emplace_back(map *
                                      directions.middleRows(features.first_feature(k), map.cols()));
  }
  return probes;
}

void FitProbes::AddKernel(Index k, const CrossValues& values, Matrix& probes,
                          const RunContext& context) const {
  Matrix of_kernel(kProbes, values.cols());
  TransposedProductOfTask(of_landmarks_[static_cast<size_t>(k)], values, of_kernel, context);
  probes += of_kernel;
}

double FitProbes::LostEnergy(ConstMatrixRef joint, Matrix probes, const RunContext& context) const {
  Matrix of_joint(kProbes, joint.cols());
  TransposedProductOfTask(of_joint_, joint, of_joint, context);
  probes -= of_joint;
  return probes.squaredNorm() / static_cast<double>(kProbes);
}

Matrix FitProbes::Start(Index rows) { return Matrix::Zero(kProbes, rows); }

}  // namespace mercer
