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
Matrix ScaledDirections(const NystromFeatures& fitted, const Vector& energies, uint64_t seed) {
  RandomStream random(seed, "fit-probes");
  const auto counted = static_cast<double>((energies.array() > 0).count());
  Matrix directions(fitted.num_features(), kProbes);
  for (Index k = 0; k < fitted.num_kernels(); ++k) {
    const double scale = energies(k) > 0 ? 1.0 / std::sqrt(energies(k) * counted) : 0.0;
    for (Index i = fitted.first_feature(k); i < fitted.first_feature(k + 1); ++i) {
      for (Index p = 0; p < kProbes; ++p) {
        directions(i, p) = scale * random.Normal();
      }
    }
  }
  return directions;
}

}  // namespace

absl::StatusOr<FitProbes> FitProbes::Make(NystromFeatures fitted, ConstMatrixRef fit,
                                          const Vector& energies, uint64_t seed,
                                          RunContext& context) {
  FitProbes probes(std::move(fitted));
  const NystromFeatures& features = probes.fitted_;
  const Matrix directions = ScaledDirections(features, energies, seed);
  probes.of_joint_.resize(fit.cols(), kProbes);
  MERCER_RETURN_IF_ERROR(TransposedProduct(fit, directions, probes.of_joint_, context));
  const Index landmarks = features.num_landmarks();
  probes.of_landmarks_.resize(features.num_kernels() * landmarks, kProbes);
  PacedCheck check(context);
  for (Index k = 0; k < features.num_kernels(); ++k) {
    const Matrix& map = features.map(k);
    MERCER_RETURN_IF_ERROR(check.After(map.size() * kProbes));
    probes.of_landmarks_.middleRows(k * landmarks, landmarks).noalias() =
        map * directions.middleRows(features.first_feature(k), map.cols());
  }
  return probes;
}

double FitProbes::LostShares(const BoundCrossKernels& x, Index begin, Index end,
                             ConstMatrixRef joint, const RunContext& context) const {
  const Index rows = end - begin;
  const Index landmarks = fitted_.num_landmarks();
  std::vector<double> values(static_cast<size_t>(fitted_.num_kernels() * rows * x.stride()));
  x.Values(begin, end, values.data(), context);
  Matrix lost(kProbes, rows);
  TransposedProductOfTask(of_joint_, joint, lost, context);
  Matrix of_kernel(kProbes, rows);
  for (Index k = 0; k < fitted_.num_kernels() && !context.cancelled(); ++k) {
    const Eigen::Map<const Matrix, 0, Eigen::OuterStride<>> kernel(
        values.data() + k * rows * x.stride(), landmarks, rows, Eigen::OuterStride<>(x.stride()));
    TransposedProductOfTask(of_landmarks_.middleRows(k * landmarks, landmarks), kernel, of_kernel,
                            context);
    lost -= of_kernel;
  }
  return lost.squaredNorm() / static_cast<double>(kProbes);
}

}  // namespace mercer
