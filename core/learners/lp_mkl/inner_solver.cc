#include "core/learners/lp_mkl/inner_solver.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/base/errors.h"
#include "core/base/status_macros.h"
#include "core/base/step_count.h"
#include "core/solvers/coordinate_descent_svm.h"
#include "core/solvers/curved_svm.h"
#include "core/solvers/factor_svm.h"
#include "core/solvers/gfb_svm.h"
#include "core/solvers/interior_point_svm.h"
#include "core/solvers/svm_newton.h"

namespace mercer::lp_mkl {
namespace {

constexpr double kSliceOperations = 4e9;     // about 0.2 s of matrix products on one core
constexpr double kSmoSliceOperations = 4e8;  // SMO is bound by memory

}  // namespace

absl::Status CheckInnerSolver(const LpMklOptions& options) {
  const bool for_all_kernels = options.inner_solver == InnerSolverChoice::kAuto ||
                               options.inner_solver == InnerSolverChoice::kNewton ||
                               options.inner_solver == InnerSolverChoice::kSmo;
  FieldViolations violations;
  violations.Check(for_all_kernels || options.approximation != Approximation::kNone, "inner_solver",
                   "must be auto, newton or smo when approximation is none: the others are for "
                   "kernels of low rank");
  return violations.ToStatus();
}

ByteCount InnerSolverBytes(const LpMklOptions& options, const ProblemShape& shape, Index rank) {
  const ByteCount rows(shape.rows);
  const ByteCount number(sizeof(double));
  switch (options.inner_solver) {
    case InnerSolverChoice::kGfb:
      // The split form keeps a copy of the dual for each kernel, saved and before and after an
      // iteration, and the products of all kernels.
      return ByteCount(7) * (ByteCount(shape.kernels) + ByteCount(2)) * rows * number;
    case InnerSolverChoice::kCoordinateDescent:
      return ByteCount(FactorRows::Bytes(shape.rows, rank));
    case InnerSolverChoice::kSmo:
      return SmoColumnBytes(shape.rows, SmoOptions());
    case InnerSolverChoice::kAuto:
    case InnerSolverChoice::kNewton:
    case InnerSolverChoice::kInteriorPoint:
    case InnerSolverChoice::kGfbMerged:
      break;
  }
  return ByteCount(0);
}

absl::Status InnerSolver::Start(const KernelOperator& kernel, const Vector& dual,
                                const Vector& scores, double relative_gap, RunContext& context) {
  finished_iterations_ = iterations();
  kernel_ = &kernel;
  relative_gap_ = relative_gap;
  smo_ = nullptr;
  solver_ = nullptr;
  // Entries of a factored kernel cost as much as whole rows of its factor, which Newton's method
  // reads but a few times.
  const bool smo = choice_ == InnerSolverChoice::kSmo ||
                   (choice_ == InnerSolverChoice::kAuto && !prefers_newton_ &&
                    !kernel.Factored().has_value() && problem_.loss->is_piecewise_linear());
  return smo ? StartSmo(dual, scores, context) : StartIterations(dual, context);
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

std::unique_ptr<SvmSolver> InnerSolver::MakeSolver() const {
  if (!problem_.loss->is_piecewise_linear()) {
    return std::make_unique<CurvedSvmSolver>(*kernel_, relative_gap_);
  }
  const std::optional<FactoredKernel> factored = kernel_->Factored();
  if (!factored.has_value()) {
    return std::make_unique<SvmNewtonSolver>(*kernel_, relative_gap_);
  }
  switch (choice_) {
    case InnerSolverChoice::kInteriorPoint:
      return std::make_unique<InteriorPointSvmSolver>(*factored, relative_gap_);
    case InnerSolverChoice::kGfb:
    case InnerSolverChoice::kGfbMerged: {
      const GfbOptions options{.merged = choice_ == InnerSolverChoice::kGfbMerged};
      return std::make_unique<GfbSvmSolver>(*factored, relative_gap_, options);
    }
    case InnerSolverChoice::kCoordinateDescent:
      return std::make_unique<CoordinateDescentSvmSolver>(*factored, relative_gap_);
    case InnerSolverChoice::kAuto:
    case InnerSolverChoice::kNewton:
    case InnerSolverChoice::kSmo:
      break;
  }
  return std::make_unique<FactorSvmSolver>(*factored, relative_gap_);
}

absl::Status InnerSolver::StartIterations(const Vector& dual, RunContext& context) {
  std::unique_ptr<SvmSolver> solver = MakeSolver();
  SvmWarmStart start = successor_;
  start.dual = dual;
  MERCER_RETURN_IF_ERROR(
      solver->Start({problem_.loss, problem_.targets, problem_.costs}, start, context));
  solver_ = std::move(solver);
  return absl::OkStatus();
}

absl::Status InnerSolver::Step(RunContext& context) {
  if (solver_ != nullptr) {
    for (double work = 0; work < kSliceOperations && !solver_->done();) {
      work += solver_->NextCost();
      MERCER_RETURN_IF_ERROR(solver_->Step(1, context));
    }
    if (solver_->done()) {
      successor_ = solver_->Successor();  // while there is the kernel that it is about
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
    MERCER_RETURN_IF_ERROR(StartIterations(smo_->dual(), context));
    finished_iterations_ += smo_->iterations();
    smo_ = nullptr;
  }
  return absl::OkStatus();
}

bool InnerSolver::stuck() const {
  return solver_ != nullptr
             ? solver_->stop() == SvmStop::kPrecision
             : smo_ != nullptr && smo_->done() && smo_->stop() != SmoStop::kRelativeGap;
}

int64_t InnerSolver::iterations() const {
  return finished_iterations_ + (solver_ != nullptr ? solver_->iterations() : 0) +
         (smo_ != nullptr ? smo_->iterations() : 0);
}

void InnerSolver::Save(ByteWriter& writer) const {
  writer.WriteDouble(relative_gap_);
  writer.WriteBool(prefers_newton_);
  writer.WriteDouble(successor_.proximal_step);
  writer.WriteVector(successor_.function);
  writer.WriteDouble(successor_.bias);
  writer.WriteInt64(finished_iterations_);
  writer.WriteUint8(solver_ != nullptr ? 2 : (smo_ != nullptr ? 1 : 0));
  writer.WriteString(solver_ != nullptr ? solver_->SaveState()
                                        : (smo_ != nullptr ? smo_->SaveState() : std::string()));
}

absl::Status InnerSolver::Load(ByteReader& reader, const KernelOperator* kernel) {
  kernel_ = kernel;
  relative_gap_ = reader.ReadDouble();
  prefers_newton_ = reader.ReadBool();
  successor_.proximal_step = reader.ReadDouble();
  successor_.function = reader.ReadVector();
  successor_.bias = reader.ReadDouble();
  finished_iterations_ = reader.ReadInt64();
  const uint8_t solver = reader.ReadUint8();
  const std::string state = reader.ReadString();
  smo_ = nullptr;
  solver_ = nullptr;
  if (!reader.ok() || solver > 2 || (solver > 0 && kernel == nullptr) ||
      !IsStepCount(finished_iterations_)) {
    return absl::InvalidArgumentError("not a state of the inner solver");
  }
  if (solver == 1) {
    smo_ = std::make_unique<SmoSolver>(*kernel, SmoSettings());
    return smo_->RestoreState({problem_.loss, problem_.targets, problem_.costs}, state);
  }
  if (solver == 2) {
    solver_ = MakeSolver();
    return solver_->RestoreState({problem_.loss, problem_.targets, problem_.costs}, state);
  }
  return absl::OkStatus();
}

}  // namespace mercer::lp_mkl
