#include "core/solvers/mkl/inner_solver.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "core/base/numeric/step_count.h"
#include "core/base/status/status_macros.h"
#include "core/solvers/factor/coordinate_descent_svm.h"
#include "core/solvers/factor/factor_svm.h"
#include "core/solvers/factor/gfb_svm.h"
#include "core/solvers/factor/interior_point_svm.h"
#include "core/solvers/svm/curved_svm.h"
#include "core/solvers/svm/smo.h"
#include "core/solvers/svm/svm_newton.h"

namespace mercer {
namespace {

constexpr double kSliceOperations = 4e9;     // about 0.2 s of matrix products on one core
constexpr double kSmoSliceOperations = 4e8;  // SMO is bound by memory

}  // namespace

ByteCount InnerSolverBytes(InnerSolverChoice choice, Index rows, Index kernels, Index rank) {
  switch (choice) {
    case InnerSolverChoice::kGfb:
      // The split form keeps a copy of the dual for each kernel, saved and before and after an
      // iteration, and the products of all kernels.
      return ByteCount(7) * (ByteCount(kernels) + ByteCount(2)) * ByteCount(rows) *
             ByteCount(sizeof(double));
    case InnerSolverChoice::kCoordinateDescent:
      return ByteCount(FactorRows::Bytes(rows, rank));
    case InnerSolverChoice::kSmo:
      return SmoColumnBytes(rows, SmoOptions());
    case InnerSolverChoice::kAuto:
    case InnerSolverChoice::kNewton:
    case InnerSolverChoice::kInteriorPoint:
    case InnerSolverChoice::kGfbMerged:
      break;
  }
  return ByteCount(0);
}

absl::Status InnerSolver::Start(const KernelOperator& kernel, const Vector& dual,
                                double relative_gap, RunContext& context) {
  finished_iterations_ = iterations();
  kernel_ = &kernel;
  relative_gap_ = relative_gap;
  solver_ = nullptr;
  // Entries of a factored kernel cost as much as whole rows of its factor, which Newton's method
  // reads but a few times.
  const bool smo = choice_ == InnerSolverChoice::kSmo ||
                   (choice_ == InnerSolverChoice::kAuto && !prefers_newton_ &&
                    !kernel.Factored().has_value() && problem_.loss->is_piecewise_linear());
  return StartSolver(smo, {.dual = dual}, context);
}

std::unique_ptr<SvmSolver> InnerSolver::MakeSolver(bool smo) const {
  if (smo) {
    return std::make_unique<SmoSolver>(*kernel_, SmoOptions{.relative_gap = relative_gap_});
  }
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

// What the solver of the last run left serves iterations on all samples alone.
absl::Status InnerSolver::StartSolver(bool smo, SvmWarmStart start, RunContext& context) {
  if (!smo) {
    start.proximal_step = successor_.proximal_step;
    start.function = successor_.function;
    start.bias = successor_.bias;
  }
  std::unique_ptr<SvmSolver> solver = MakeSolver(smo);
  MERCER_RETURN_IF_ERROR(solver->Start(problem_, start, context));
  solver_ = std::move(solver);
  smo_ = smo;
  return absl::OkStatus();
}

absl::Status InnerSolver::Step(RunContext& context) {
  if (smo_) {
    return StepSmo(context);
  }
  for (double work = 0; work < kSliceOperations && !solver_->done();) {
    work += solver_->NextCost();
    MERCER_RETURN_IF_ERROR(solver_->Step(1, context));
  }
  if (solver_->done()) {
    successor_ = solver_->Successor();  // while there is the kernel that it is about
  }
  return absl::OkStatus();
}

absl::Status InnerSolver::StepSmo(RunContext& context) {
  const int64_t budget = choice_ == InnerSolverChoice::kAuto ? 100 * problem_.targets.size()
                                                             : std::numeric_limits<int64_t>::max();
  const auto slice = static_cast<int64_t>(kSmoSliceOperations / solver_->NextCost());
  MERCER_RETURN_IF_ERROR(solver_->Step(
      std::min(std::max<int64_t>(100, slice), budget - solver_->iterations()), context));
  const bool exhausted = solver_->done() ? stuck() : solver_->iterations() >= budget;
  if (choice_ == InnerSolverChoice::kAuto && exhausted) {
    prefers_newton_ = true;
    const int64_t finished = iterations();
    MERCER_RETURN_IF_ERROR(StartSolver(false, {.dual = Vector(solver_->dual())}, context));
    finished_iterations_ = finished;
  }
  return absl::OkStatus();
}

bool InnerSolver::stuck() const { return done() && solver_->stop() != SvmStop::kRelativeGap; }

int64_t InnerSolver::iterations() const {
  return finished_iterations_ + (solver_ != nullptr ? solver_->iterations() : 0);
}

void InnerSolver::Save(ByteWriter& writer) const {
  writer.WriteDouble(relative_gap_);
  writer.WriteBool(prefers_newton_);
  writer.WriteDouble(successor_.proximal_step);
  writer.WriteVector(successor_.function);
  writer.WriteDouble(successor_.bias);
  writer.WriteInt64(finished_iterations_);
  writer.WriteUint8(solver_ == nullptr ? 0 : (smo_ ? 1 : 2));
  writer.WriteString(solver_ != nullptr ? solver_->SaveState() : std::string());
}

absl::Status InnerSolver::Load(ByteReader& reader, const KernelOperator* kernel,
                               RunContext& context) {
  kernel_ = kernel;
  relative_gap_ = reader.ReadDouble();
  prefers_newton_ = reader.ReadBool();
  successor_.proximal_step = reader.ReadDouble();
  successor_.function = reader.ReadVector();
  successor_.bias = reader.ReadDouble();
  finished_iterations_ = reader.ReadInt64();
  const uint8_t solver = reader.ReadUint8();
  const std::string state = reader.ReadString();
  solver_ = nullptr;
  if (!reader.ok() || solver > 2 || (solver > 0 && kernel == nullptr) ||
      !IsStepCount(finished_iterations_)) {
    return absl::InvalidArgumentError("not a state of the inner solver");
  }
  smo_ = solver == 1;
  if (solver == 0) {
    return absl::OkStatus();
  }
  solver_ = MakeSolver(smo_);
  return solver_->RestoreState(problem_, state, context);
}

}  // namespace mercer
