// What learners of one task and one output share: checks of their problem, warm starts by row, the
// point that they hand out.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/base/status/byte_count.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/objectives/loss.h"
#include "core/solvers/svm/svm_problem.h"
#include "core/training/contract/learner.h"
#include "core/training/contract/problem.h"

namespace mercer {

// Checks that there are tasks with rows; that targets (of every output) and costs of every row are
// finite, costs >= 0 and not all 0; for classification, that targets are -1 or +1. Errors:
// kInvalidArgument with reason NO_ROWS, BAD_LABEL or BAD_WEIGHT (with the row).
absl::Status CheckTaskRows(const TrainingProblem& problem);
// `status` as one about that task: its name is put before the message, if it has one.
absl::Status InTask(const TaskData& task, const absl::Status& status);
// Does CheckTaskRows, and checks that there are kernels. Errors: also
// kInvalidArgument naming the field "kernels".
absl::Status CheckRowsAndKernels(const TrainingProblem& problem);
// Checks that for every output both classes have a row of weight > 0. Errors: kInvalidArgument with
// reason ONE_CLASS.
absl::Status CheckBothClasses(const ConstMatrixRef& targets, const ConstVectorRef& costs);

// A loss and the data of a task, as solvers take them: costs times C.
// CheckRowsAndKernels, and that the risk cannot overflow and both classes have a row of weight > 0.
// `loss` is one for the kind of target. Errors: those, naming the fields "C" and "epsilon", reason
// ONE_CLASS.
absl::StatusOr<SvmProblem> ReadSvmProblem(const TrainingProblem& problem,
                                          std::shared_ptr<const Loss> loss, double C);
// The same with the loss of support vector machines: hinge for classes, epsilon-insensitive for
// numbers.
absl::StatusOr<SvmProblem> ReadSvmProblem(const TrainingProblem& problem, double C, double epsilon);
// The machine of each output of a task of classes, costs times C: rows that it does not see, of
// target 0, have cost 0.
std::vector<SvmProblem> MakeMachines(const TaskData& task, const std::shared_ptr<const Loss>& loss,
                                     double C);

// Upper bound on the bytes of an exact kernel family with one combination, and of the family of the
// verifier, which comes while the learner still has its own.
ByteCount LearnerFamilyBytes(const ProblemShape& shape);
ByteCount VerifierFamilyBytes(const ProblemShape& shape);

// The number of pairs of rows.
double CountPairs(const ProblemShape& shape);
// The number of values that so many kernels have at all pairs, those of distances that no memory
// keeps included.
double CountPassValues(const ProblemShape& shape, double kernels);
// The work of an exact kernel family and one combination of all its kernels, and of what a verifier
// does with it.
WorkCount KernelSumWork(const ProblemShape& shape);
// The work of a training on the sum that the problem keeps (kernel_sum.h), and of its verification,
// but for what the learner does with the sum.
LearnerWork SharedSumWork(const ProblemShape& shape);
// The support vectors of such a shape against those of two or three classes: where one class of
// many is told from the rest, few rows are near its margin. About half with ten classes, by
// tests/bench/outer_loop_bench with a kernel for each column.
double SupportShare(const ProblemShape& shape);
// The work of SMO on a formed kernel whose entries are within `largest_entry`, for the box [0, C].
WorkCount SmoWork(const ProblemShape& shape, double C, double largest_entry);

// How far a run of this accuracy is that was asked for `relative_gap`, on a log scale from 1: in
// [0, 1]; 0 while there is none.
double FractionOfGap(double accuracy, double relative_gap);

// The dual variables of the warm start's point for the rows of `problem`, 0 for rows that it does
// not know; empty when there is no usable point.
Vector CarriedDual(const TrainingProblem& problem, const WarmStart* warm_start);
// The kernel weights of the warm start's point with a hundredth of `first` mixed in, so that no
// kernel begins at zero, where a sparse norm would leave it; not normalised. Empty when it has no
// usable ones for as many kernels.
Vector CarriedWeights(const Vector& first, const WarmStart* warm_start);

// The constant function, with a dual of zeros and these kernel weights in the summary.
TrainedPoint MakeConstantPoint(const TrainingProblem& problem, ConstVectorRef weights, double bias);
// The point f(x) = sum_i dual(i) sum_k k_k(x_i, x) + bias on the normalised kernels of `problem`;
// `scales` are the factors of their normalisation.
TrainedPoint MakeKernelSumPoint(const TrainingProblem& problem, ConstVectorRef scales,
                                const Vector& dual, double bias);

// Dual variables and bias of one output, as a certificate needs them.
struct SingleTaskPoint {
  Vector dual;
  double bias = 0;
};

// Reads the point of the witness. Errors: kFailedPrecondition when the witness is not of these
// rows.
absl::StatusOr<SingleTaskPoint> ReadSingleTaskPoint(const TrainingProblem& problem,
                                                    const Witness& witness);

// max_i sum_k weights(k) K_k(i, i): no entry of the combination is larger in magnitude. Errors:
// kCancelled.
absl::StatusOr<double> LargestEntry(const KernelFamily& family, ConstVectorRef weights,
                                    RunContext& context);

// A squared norm dual'K dual below -1e-8 dual'dual largest is no rounding: the kernel is not
// positive semidefinite, and bounds mean nothing. One squared norm per column of `duals`. Errors:
// kInvalidArgument with reason NOT_PSD.
absl::Status CheckSquaredNorms(const TrainingProblem& problem, ConstMatrixRef duals,
                               ConstVectorRef squared_norms, double largest);
absl::Status NotPsdError(const TrainingProblem& problem);

}  // namespace mercer
