#include "core/solvers/factor/certified_factor_solver.h"

#include <utility>

#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr double kProgress = 0.98;  // a gap below this share of the best one is progress

}  // namespace

absl::Status CertifiedFactorSolver::SetProblem(const SvmProblem& problem) {
  if (problem.loss == nullptr || problem.targets.size() != num_samples()) {
    return absl::InvalidArgumentError("targets and costs must have one entry per sample");
  }
  MERCER_ASSIGN_OR_RETURN(box_, MakeSvmDualBox(*problem.loss, problem.targets, problem.costs));
  problem_ = problem;
  prepared_ = false;
  return absl::OkStatus();
}

absl::StatusOr<CertifiedFactorSolver::Point> CertifiedFactorSolver::Certify(
    Vector dual, RunContext& context) const {
  Point point;
  point.dual = std::move(dual);
  problem_.loss->RepairDual(problem_.targets, problem_.costs, true, point.dual);
  Vector reduced;
  MERCER_RETURN_IF_ERROR(kernel_.MultiplyTransposed(point.dual, reduced, context));
  MERCER_RETURN_IF_ERROR(kernel_.Multiply(reduced, point.scores, context));
  MERCER_ASSIGN_OR_RETURN(point.certificate,
                          CertifySvm(*problem_.loss, problem_.targets, problem_.costs, point.dual,
                                     point.scores, true, context));
  return point;
}

// Points whose gap is hardly smaller than the best one count as stalls, of which a run may have
// only so many in succession.
void CertifiedFactorSolver::Consider(Point point) {
  const double gap = point.certificate.RelativeGap();
  const double best_gap = best().certificate.RelativeGap();
  progress_.stalls = gap < kProgress * best_gap ? 0 : progress_.stalls + 1;
  if (gap < best_gap) {
    progress_.best = std::move(point);
  }
  if (IsGoodEnough(best())) {
    progress_.stop = SvmStop::kRelativeGap;
  }
}

absl::Status CertifiedFactorSolver::Start(const SvmProblem& problem, const SvmWarmStart& warm_start,
                                          RunContext& context) {
  MERCER_RETURN_IF_ERROR(SetProblem(problem));
  const Index n = num_samples();
  if (warm_start.dual.size() != 0 && warm_start.dual.size() != n) {
    return absl::InvalidArgumentError("the dual of the start must have one entry per sample");
  }
  MERCER_ASSIGN_OR_RETURN(
      progress_.best,
      Certify(warm_start.dual.size() == 0 ? Vector::Zero(n) : warm_start.dual, context));
  progress_.iterations = 0;
  progress_.stalls = 0;
  progress_.stop = IsGoodEnough(best()) ? SvmStop::kRelativeGap : SvmStop::kRunning;
  if (done()) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(Prepare(context));
  prepared_ = true;
  return Begin(context);
}

absl::Status CertifiedFactorSolver::Iterate(RunContext& context) {
  if (!prepared_) {
    MERCER_RETURN_IF_ERROR(Prepare(context));
    prepared_ = true;
  }
  MERCER_RETURN_IF_ERROR(Advance(context));
  ++progress_.iterations;
  if (!done() &&
      (progress_.iterations >= limits_.max_iterations || progress_.stalls >= limits_.max_stalls)) {
    EndForPrecision();
  }
  return absl::OkStatus();
}

std::string CertifiedFactorSolver::SaveState() const {
  ByteWriter writer;
  writer.WriteString(name());
  WriteFields(progress_, writer, num_samples());
  if (!done()) {
    SaveIterate(writer);
  }
  return std::move(writer).Take();
}

// The certificate is not saved but computed again from dual and scores; what Prepare makes is made
// again before the next iteration.
absl::Status CertifiedFactorSolver::RestoreState(const SvmProblem& problem, std::string_view state,
                                                 RunContext& context) {
  const absl::Status damaged =
      absl::InvalidArgumentError("not a state of this solver for this problem");
  MERCER_RETURN_IF_ERROR(SetProblem(problem));
  ByteReader reader(state);
  Progress progress;
  if (reader.ReadString() != name() || !ReadFields(reader, progress, num_samples())) {
    return damaged;
  }
  const absl::StatusOr<SvmCertificate> certificate =
      CertifySvm(*problem_.loss, problem_.targets, problem_.costs, progress.best.dual,
                 progress.best.scores, /*with_bias=*/true, context);
  if (absl::IsCancelled(certificate.status())) {
    return certificate.status();
  }
  const bool running = progress.stop == SvmStop::kRunning;
  if (!certificate.ok() || (running && !LoadIterate(reader)) || !reader.AtEnd()) {
    return damaged;
  }
  progress.best.certificate = *certificate;
  progress_ = std::move(progress);
  return absl::OkStatus();
}

}  // namespace mercer
