// The support vector machines of several outputs that share one combination of kernels. Each has
// rows of its own: all of them, or those of two classes.
//
// Their samples stand one after the other in one problem, whose targets, costs, dual and scores are
// those of all. What is a sum over samples (the dual objective, its boxes and rays) is then that of
// a single machine; a bias, and the balance of the dual, is each machine's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/encoding/bytes.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/solvers/mkl/inner_solver.h"
#include "core/solvers/mkl/mkl_bounds.h"
#include "core/solvers/svm/svm_problem.h"

namespace mercer {

// The rows of the kernels that the samples of one machine are, ascending.
using MachineRows = std::vector<Index>;

// Of how many machines Hessians, and the products that they are made of, are held at a time.
inline constexpr size_t kHessiansAtOnce = 16;

// What a machine has found, as functions of all machines side by side. Of several, each function is
// the multiple that is best for its machine; of a single one it is the dual as it is, and
// `other_scale` the multiple.
struct MachineFunctions {
  Vector dual;
  Vector scores;
  Matrix energies;  // of each kernel and machine
  double other_scale = 1;
};

class Machines {
 public:
  // `rows` empty: a single machine, whose samples are all rows. Kernels of machines with some of
  // the rows are formed (KernelOperator::Dense).
  Machines(InnerSolverChoice choice, const SvmProblem& problem, std::vector<MachineRows> rows);

  // Begins all of them with the combination of kernels, which must live until the next Start, from
  // the dual of all samples; each is solved to `relative_gap`, and so are they together.
  absl::Status Start(const KernelOperator& kernel, const Vector& dual, double relative_gap,
                     RunContext& context);
  // Does about 0.2 s of work for each thread, measured in operations. Errors: as those of
  // InnerSolver.
  absl::Status Step(RunContext& context);

  // Of a single machine, those of its solver (InnerSolver).
  void set_successor(SvmWarmStart successor) { inner_[0].set_successor(std::move(successor)); }
  const SvmWarmStart& successor() const { return inner_[0].successor(); }

  bool done() const;
  // Whether some machine ended for want of precision and not at the gap asked for.
  bool stuck() const;
  bool has_point() const;
  const std::vector<SampleRange>& ranges() const { return ranges_; }
  // Of all samples.
  const Vector& dual() const;
  int64_t iterations() const;
  // Sums of the machines' bounds.
  double upper() const;
  double lower() const;

  // energies(k, m) = dual_m'K_k dual_m of these kernels (empty: all).
  absl::Status Energies(const KernelFamily& family, const Vector& dual,
                        const std::vector<Index>& kernels, MatrixRef energies,
                        RunContext& context) const;
  // The functions at their end. `energies` are those of the dual.
  MachineFunctions Functions(const Matrix& energies) const;
  // Makes a dual of all samples feasible.
  void Repair(Vector& dual) const;
  // The best biases of the functions so far. Errors: kCancelled.
  absl::StatusOr<Vector> BiasesSoFar(RunContext& context) const;
  // The Hessian of the sum of the machines' optima in the weights of these kernels, at their
  // solution; nothing when there is none (weight_hessian.h).
  absl::StatusOr<std::optional<Matrix>> Hessian(const KernelFamily& family,
                                                const std::vector<Index>& kernels,
                                                RunContext& context) const;

  void Save(ByteWriter& writer) const;
  // `kernel` is that of the Start before Save; null when there was none.
  absl::Status Load(ByteReader& reader, const KernelOperator* kernel, RunContext& context);

 private:
  bool is_single() const { return inner_.size() == 1; }
  void SetKernel(const KernelOperator* kernel);
  void GatherDual();
  Vector OfRows(size_t machine, ConstVectorRef own, Index num_rows) const;
  absl::StatusOr<std::optional<Matrix>> HessianOf(size_t machine, const KernelFamily& family,
                                                  const std::vector<Index>& kernels,
                                                  RunContext& context) const;

  const std::vector<MachineRows> rows_;
  std::vector<SampleRange> ranges_;
  std::vector<SvmProblem> problems_;
  std::vector<InnerSolver> inner_;
  std::vector<std::unique_ptr<const KernelOperator>> own_kernels_;  // of machines with some rows
  std::vector<const KernelOperator*> kernels_;
  Vector dual_;  // of several machines
};

}  // namespace mercer
