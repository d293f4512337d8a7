#include "core/solvers/factor/certified_factor_solver.h"

#include <utility>

#include "core/base/numeric/step_count.h"
#include "core/base/status/status_macros.h"
#include "core/solvers/factor/factor_systems.h"

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
  MERCER_RETURN_IF_ERROR(ReduceDual(kernel_, point.dual, reduced, context));
  MERCER_RETURN_IF_ERROR(ScoreSamples(kernel_, reduced, point.scores, context));
  MERCER_ASSIGN_OR_RETURN(point.certificate,
                          CertifySvm(*problem_.loss, problem_.targets, problem_.costs, point.dual,
                                     point.scores, true, context));
  return point;
}

// Points whose gap is hardly smaller than the best one count as stalls, of which a run may have
// only so many in succession.
void CertifiedFactorSolver::Consider(Point point) {
  const double gap = point.certificate.RelativeGap();
  const double best_gap = best_.certificate.RelativeGap();
  stalls_ = gap < kProgress * best_gap ? 0 : stalls_ + 1;
  if (gap < best_gap) {
    best_ = std::move(point);
  }
  if (IsGoodEnough(best_)) {
    stop_ = SvmStop::kRelativeGap;
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
      best_, Certify(warm_start.dual.size() == 0 ? Vector::Zero(n) : warm_start.dual, context));
  iterations_ = 0;
  stalls_ = 0;
  stop_ = IsGoodEnough(best_) ? SvmStop::kRelativeGap : SvmStop::kRunning;
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
  ++iterations_;
  if (!done() && (iterations_ >= limits_.max_iterations || stalls_ >= limits_.max_stalls)) {
    EndForPrecision();
  }
  return absl::OkStatus();
}

std::string CertifiedFactorSolver::SaveState() const {
  ByteWriter writer;
  writer.WriteString(name());
  writer.WriteVector(best_.dual);
  writer.WriteVector(best_.scores);
  writer.WriteInt64(iterations_);
  writer.WriteInt64(stalls_);
  writer.WriteUint8(static_cast<uint8_t>(stop_));
  if (!done()) {
    SaveIterate(writer);
  }
  return std::move(writer).Take();
}

// The certificate is not saved but computed again from dual and scores; what Prepare makes is made
// again before the next iteration.
absl::Status CertifiedFactorSolver::RestoreState(const SvmProblem& problem,
                                                 std::string_view state) {
  const absl::Status damaged =
      absl::InvalidArgumentError("not a state of this solver for this problem");
  MERCER_RETURN_IF_ERROR(SetProblem(problem));
  ByteReader reader(state);
  const bool known = reader.ReadString() == name();
  Point point;
  point.dual = reader.ReadVector();
  point.scores = reader.ReadVector();
  const int64_t iterations = reader.ReadInt64();
  const int64_t stalls = reader.ReadInt64();
  const uint8_t stop = reader.ReadUint8();
  if (!reader.ok() || !known || !IsStepCount(iterations) || !IsStepCount(stalls) ||
      stop > static_cast<uint8_t>(SvmStop::kPrecision) || point.dual.size() != num_samples() ||
      point.scores.size() != num_samples()) {
    return damaged;
  }
  const absl::StatusOr<SvmCertificate> certificate =
      CertifySvm(*problem_.loss, problem_.targets, problem_.costs, point.dual, point.scores);
  const auto ending = static_cast<SvmStop>(stop);
  if (!certificate.ok() || (ending == SvmStop::kRunning && !LoadIterate(reader)) ||
      !reader.AtEnd()) {
    return damaged;
  }
  point.certificate = *certificate;
  best_ = std::move(point);
  iterations_ = iterations;
  stalls_ = stalls;
  stop_ = ending;
  return absl::OkStatus();
}

}  // namespace mercer
