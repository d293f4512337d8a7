#include "core/learners/lp_mkl/inner_solver.h"

#include <algorithm>
#include <limits>

#include "core/base/status_macros.h"

namespace mercer::lp_mkl {
namespace {

constexpr double kSliceOperations = 4e9;     // about 0.2 s of matrix products on one core
constexpr double kSmoSliceOperations = 4e8;  // SMO is bound by memory

}  // namespace

absl::Status InnerSolver::Start(const KernelOperator& kernel, const Vector& dual,
                                const Vector& scores, double relative_gap, RunContext& context) {
  finished_iterations_ = iterations();
  if (newton_ != nullptr) {
    proximal_step_ = newton_->proximal_step();
  }
  kernel_ = &kernel;
  relative_gap_ = relative_gap;
  smo_ = nullptr;
  newton_ = nullptr;
  const bool newton = choice_ == InnerSolverChoice::kNewton ||
                      (choice_ == InnerSolverChoice::kAuto && prefers_newton_);
  return newton ? StartNewton(dual, context) : StartSmo(dual, scores, context);
}

SmoOptions InnerSolver::SmoSettings() const {
  SmoOptions options;
  options.relative_gap = relative_gap_;
  return options;
}

absl::Status InnerSolver::StartSmo(const Vector& dual, const Vector& scores, RunContext& context) {
  smo_ = std::make_unique<SmoSolver>(*kernel_, SmoSettings());
  return smo_->Start({problem_.loss, problem_.targets, problem_.costs},
                     {.dual = dual, .scores = scores}, context);
}

absl::Status InnerSolver::StartNewton(const Vector& dual, RunContext& context) {
  auto newton = std::make_unique<SvmNewtonSolver>(*kernel_, relative_gap_);
  MERCER_RETURN_IF_ERROR(newton->Start({problem_.loss, problem_.targets, problem_.costs},
                                       {dual, proximal_step_}, context));
  newton_ = std::move(newton);
  return absl::OkStatus();
}

absl::Status InnerSolver::Step(RunContext& context) {
  if (newton_ != nullptr) {
    for (double work = 0; work < kSliceOperations && !newton_->done();) {
      work += newton_->NextCost();
      MERCER_RETURN_IF_ERROR(newton_->Step(1, context));
    }
    return absl::OkStatus();
  }
  const int64_t budget =
      choice_ == InnerSolverChoice::kAuto ? SmoBudget() : std::numeric_limits<int64_t>::max();
  const double per_iteration = 4.0 * static_cast<double>(problem_.targets.size());
  const int64_t slice =
      std::max<int64_t>(100, static_cast<int64_t>(kSmoSliceOperations / per_iteration));
  MERCER_RETURN_IF_ERROR(smo_->Step(std::min(slice, budget - smo_->iterations()), context));
  const bool exhausted =
      smo_->done() ? smo_->stop() != SmoStop::kRelativeGap : smo_->iterations() >= budget;
  if (choice_ == InnerSolverChoice::kAuto && exhausted) {
    prefers_newton_ = true;
    MERCER_RETURN_IF_ERROR(StartNewton(smo_->dual(), context));
    finished_iterations_ += smo_->iterations();
    smo_ = nullptr;
  }
  return absl::OkStatus();
}

bool InnerSolver::stuck() const {
  return newton_ != nullptr
             ? newton_->stop() == SvmNewtonStop::kPrecision
             : smo_ != nullptr && smo_->done() && smo_->stop() != SmoStop::kRelativeGap;
}

int64_t InnerSolver::iterations() const {
  return finished_iterations_ + (newton_ != nullptr ? newton_->iterations() : 0) +
         (smo_ != nullptr ? smo_->iterations() : 0);
}

void InnerSolver::Save(ByteWriter& writer) const {
  writer.WriteDouble(relative_gap_);
  writer.WriteBool(prefers_newton_);
  writer.WriteDouble(proximal_step_);
  writer.WriteInt64(finished_iterations_);
  writer.WriteUint8(newton_ != nullptr ? 2 : (smo_ != nullptr ? 1 : 0));
  writer.WriteString(newton_ != nullptr ? newton_->SaveState()
                                        : (smo_ != nullptr ? smo_->SaveState() : std::string()));
}

absl::Status InnerSolver::Load(ByteReader& reader, const KernelOperator* kernel) {
  kernel_ = kernel;
  relative_gap_ = reader.ReadDouble();
  prefers_newton_ = reader.ReadBool();
  proximal_step_ = reader.ReadDouble();
  finished_iterations_ = reader.ReadInt64();
  const uint8_t solver = reader.ReadUint8();
  const std::string state = reader.ReadString();
  smo_ = nullptr;
  newton_ = nullptr;
  constexpr int64_t kMostIterations = int64_t{1} << 60;  // counters up to here can be added
  if (!reader.ok() || solver > 2 || (solver > 0 && kernel == nullptr) || finished_iterations_ < 0 ||
      finished_iterations_ > kMostIterations) {
    return absl::InvalidArgumentError("not a state of the inner solver");
  }
  if (solver == 1) {
    smo_ = std::make_unique<SmoSolver>(*kernel, SmoSettings());
    return smo_->RestoreState({problem_.loss, problem_.targets, problem_.costs}, state);
  }
  if (solver == 2) {
    newton_ = std::make_unique<SvmNewtonSolver>(*kernel, relative_gap_);
    return newton_->RestoreState({problem_.loss, problem_.targets, problem_.costs}, state);
  }
  return absl::OkStatus();
}

}  // namespace mercer::lp_mkl
