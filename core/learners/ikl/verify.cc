#include "core/learners/ikl/verify.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/training/contract/single_task.h"
#include "core/training/run/verification.h"

namespace mercer::ikl {
namespace {

constexpr int kGridPoints = 128;

absl::Status Mismatch(std::string_view what) {
  return WithReason(absl::FailedPreconditionError(std::string(what)), "WITNESS_MISMATCH");
}

struct ListedKernels {
  Vector bandwidths;
  Vector weights;
  double low = 0;
  double high = 0;
};

absl::StatusOr<ListedKernels> ReadKernels(const Witness& witness) {
  const Matrix* bandwidths = witness.FindArray("bandwidths");
  const Matrix* weights = witness.FindArray("weights");
  const double* low = witness.FindValue("min_bandwidth");
  const double* high = witness.FindValue("max_bandwidth");
  if (bandwidths == nullptr || weights == nullptr || low == nullptr || high == nullptr ||
      bandwidths->cols() != 1 || weights->cols() != 1 || bandwidths->rows() < 1 ||
      weights->rows() != bandwidths->rows()) {
    return Mismatch("the witness lists no kernels");
  }
  ListedKernels listed{bandwidths->col(0), weights->col(0), *low, *high};
  const bool inside = (listed.bandwidths.array() >= listed.low * (1 - 1e-12)).all() &&
                      (listed.bandwidths.array() <= listed.high * (1 + 1e-12)).all();
  if (!(listed.low > 0) || !std::isfinite(listed.high) || !inside) {
    return Mismatch("the bandwidths of the witness are not in its interval");
  }
  if (!(listed.weights.array() >= 0).all() || !(std::abs(listed.weights.sum() - 1) <= 1e-9)) {
    return Mismatch("the weights of the witness are not >= 0 with the sum 1");
  }
  return listed;
}

absl::StatusOr<std::unique_ptr<KernelFamily>> Gaussians(const TaskData& task,
                                                        const Vector& bandwidths,
                                                        RunContext& context) {
  std::vector<KernelSpec> kernels;
  for (const double bandwidth : bandwidths) {
    KernelSpec spec;
    spec.type = KernelType::kGaussian;
    spec.bandwidth = bandwidth;
    kernels.push_back(std::move(spec));
  }
  return MakeExactKernelFamily(task.inputs, task.rows, std::move(kernels), context);
}

}  // namespace

absl::StatusOr<Verification> Verify(const IklOptions& options, const TrainingProblem& problem,
                                    const Witness& witness, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const SingleTaskPoint point, ReadSingleTaskPoint(problem, witness));
  MERCER_ASSIGN_OR_RETURN(const ListedKernels listed, ReadKernels(witness));
  const TaskData& task = problem.tasks[0];
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss, MakeLoss(LossKind::kHinge));
  const Vector targets = task.targets.col(0);
  const Vector costs = options.C * task.costs;
  // The coefficients of the function are a dual times a scale: they are brought back into the box,
  // then balanced.
  Vector feasible = point.dual;
  const double inside = LargestScaleInBox(*loss, targets, costs, feasible);
  if (inside < 1) {
    feasible *= inside;
  }
  loss->RepairDual(targets, costs, true, feasible);

  // The family of the listed kernels, and behind them those of the grid.
  const Index count = listed.bandwidths.size();
  Vector bandwidths(count + kGridPoints);
  bandwidths.head(count) = listed.bandwidths;
  const double ratio = std::log(listed.high / listed.low);
  for (int g = 0; g < kGridPoints; ++g) {
    bandwidths(count + g) = listed.low * std::exp(ratio * g / (kGridPoints - 1));
  }
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<KernelFamily> family,
                          Gaussians(task, bandwidths, context));
  Vector weights = Vector::Zero(bandwidths.size());
  weights.head(count) = listed.weights;
  Matrix scores(targets.size(), 1);
  MERCER_RETURN_IF_ERROR(family->CombinedProduct(weights, point.dual, scores, context));
  Matrix energies(bandwidths.size(), 1);
  MERCER_RETURN_IF_ERROR(family->QuadraticFormsForSearch(feasible, {}, energies, context));
  const double squared_norm = std::max(0.0, point.dual.dot(scores.col(0)));
  MERCER_ASSIGN_OR_RETURN(const double risk,
                          loss->TotalValue(targets, costs, scores.col(0), point.bias, context));
  const double primal = 0.5 * squared_norm + risk;
  MERCER_ASSIGN_OR_RETURN(const double linear, loss->DualValue(targets, costs, feasible, context));
  const double largest = LargestScaleInBox(*loss, targets, costs, feasible);
  const double of_list = std::max(0.0, energies.col(0).head(count).maxCoeff());
  const double of_family = std::max(of_list, energies.maxCoeff());
  const double family_dual = BestValueOnRay(linear, of_family, largest);

  Verification verification{MakeGapCertificate(primal, BestValueOnRay(linear, of_list, largest)),
                            scores.col(0).array() + point.bias,
                            std::abs(point.bias) + point.dual.lpNorm<1>()};
  verification.certificate.scope = CertificateScope::kListedFeatures;
  verification.metrics = {
      {"ikl.kernels", static_cast<double>((listed.weights.array() > 0).count())},
      {"ikl.family_dual", family_dual},
      {"ikl.family_gap", RelativeGap(primal, family_dual)}};
  for (const auto& [name, value] : witness.values) {
    if (std::isfinite(value)) {
      verification.metrics.push_back({"ikl." + name, value});
    }
  }
  return verification;
}

}  // namespace mercer::ikl
