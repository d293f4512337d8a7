#include "core/training/contract/kernel_sum.h"

#include <utility>

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/saved_fields.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

// What the sum depends on, but for the table.
std::string KeyOf(const TrainingProblem& problem) {
  ByteWriter writer;
  writer.WriteIndices(problem.tasks[0].rows);
  WriteFields(problem.kernels, writer);
  return std::move(writer).Take();
}

absl::StatusOr<std::shared_ptr<const KernelSum>> NewKernelSum(const TrainingProblem& problem,
                                                              RunContext& context) {
  context.ReportStage("kernels");
  auto sum = std::make_shared<KernelSum>();
  sum->inputs = problem.tasks[0].inputs;
  MERCER_ASSIGN_OR_RETURN(sum->family, MakeFamilyOfSum(problem, context));
  MERCER_ASSIGN_OR_RETURN(sum->kernel,
                          sum->family->Combine(Vector::Ones(sum->family->num_kernels()), context));
  return std::shared_ptr<const KernelSum>(std::move(sum));
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelFamily>> MakeFamilyOfSum(const TrainingProblem& problem,
                                                              RunContext& context) {
  const TaskData& task = problem.tasks[0];
  return MakeExactKernelFamily(task.inputs, task.rows, problem.kernels, context,
                               KernelPasses::kOne);
}

bool LastProduct::Read(ConstMatrixRef a, MatrixRef out) const {
  absl::MutexLock lock(&mutex_);
  const bool found = a.cols() == 1 && vector_.size() == a.rows() && vector_ == a.col(0);
  if (found) {
    out.col(0) = product_;
  }
  return found;
}

void LastProduct::Write(ConstMatrixRef a, ConstMatrixRef product) {
  absl::MutexLock lock(&mutex_);
  vector_ = a.col(0);
  product_ = product.col(0);
}

std::unique_ptr<SmoColumns> SpareColumns::Take() {
  absl::MutexLock lock(&mutex_);
  return std::move(columns_);
}

void SpareColumns::Leave(std::unique_ptr<SmoColumns> columns) {
  absl::MutexLock lock(&mutex_);
  columns_ = std::move(columns);
}

// Of several vectors the sums have another order than of each alone, and are not kept.
absl::Status KernelSum::Product(ConstMatrixRef a, MatrixRef out, RunContext& context) const {
  if (last_product->Read(a, out)) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(GramProduct(*kernel->Dense(), a, out, context));
  if (a.cols() == 1) {
    last_product->Write(a, out);
  }
  return absl::OkStatus();
}

std::shared_ptr<const KernelSum> KernelSumCell::Find(const TrainingProblem& problem) const {
  absl::MutexLock lock(&mutex_);
  const bool of_table = sum_ != nullptr && sum_->inputs == problem.tasks[0].inputs;
  return of_table && key_ == KeyOf(problem) ? sum_ : nullptr;
}

absl::StatusOr<std::shared_ptr<const KernelSum>> KernelSumCell::FindOrMake(
    const TrainingProblem& problem, RunContext& context) {
  if (std::shared_ptr<const KernelSum> found = Find(problem)) {
    return found;
  }
  {
    absl::MutexLock lock(&mutex_);
    sum_ = nullptr;
  }
  MERCER_ASSIGN_OR_RETURN(std::shared_ptr<const KernelSum> made, NewKernelSum(problem, context));
  absl::MutexLock lock(&mutex_);
  key_ = KeyOf(problem);
  sum_ = made;
  return made;
}

absl::Status MakeKernelSum(const TrainingProblem& problem, std::shared_ptr<const KernelSum>& sum,
                           RunContext& context) {
  if (sum == nullptr) {
    KernelSumCell* const cell = problem.kernel_sum.get();
    MERCER_ASSIGN_OR_RETURN(
        sum, cell != nullptr ? cell->FindOrMake(problem, context) : NewKernelSum(problem, context));
  }
  return absl::OkStatus();
}

absl::Status KernelSumProduct(const TrainingProblem& problem, const KernelFamily& family,
                              ConstMatrixRef a, MatrixRef out, RunContext& context) {
  const std::shared_ptr<const KernelSum> sum =
      problem.kernel_sum != nullptr ? problem.kernel_sum->Find(problem) : nullptr;
  if (sum != nullptr) {
    return sum->Product(a, out, context);
  }
  return family.CombinedProduct(Vector::Ones(family.num_kernels()), a, out, context);
}

}  // namespace mercer
