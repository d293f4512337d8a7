// The support vector machines of all tasks for fixed weights of their kernels, and alternation
// between them and the weights: methods that the joint interior point is compared with, and what
// general exponents ask for.
//
// Problem      multitask_problem.h; of exponents p and q >= 1.
// Method       Machines of all tasks, each from its last solution, then weights: in closed form
//              (TaskNorm::NextWeights), or by SimpleMKL's reduced gradient (p = 1, q = 2, squared),
//              the algorithm of
//              Flamary, Rakotomamonjy, Gasso, Canu: Selection de variables pour l'apprentissage
//              simultane de taches. CAp 2009, 109-120.
// Guarantees   Bounds of the whole problem after all machines are solved. The closed form never
//              raises the penalised risk for p, q <= 2, and never lowers the dual for p, q >= 2.
// Newton       The optimum of all machines as a function of d has the Hessian that is the sum of
//              theirs (mkl/weight_hessian.h); its second-order model is minimised on the simplex.
//              From the closed form's first steps, shortened while the optimum rises; where no dual
//              variables are free, or there is no model, the closed form takes its place.
// Cost         A Gram matrix for each task, and one SVM, per step. The closed form takes 4 to 30
//              steps where no exponent is near 1, where it is sublinear; the reduced gradient
//              thousands of machines.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/solvers/mkl/inner_solver.h"
#include "core/solvers/mkl/reduced_gradient.h"
#include "core/solvers/multitask/multitask_problem.h"
#include "core/solvers/multitask/multitask_solver.h"

namespace mercer {

// The last two are for p = 1, q = 2, squared.
enum class TaskWeightRule : uint8_t { kClosedForm, kReducedGradient, kNewton };

struct AlternationOptions {
  TaskWeightRule rule = TaskWeightRule::kClosedForm;
  double relative_gap = 1e-6;
  int64_t max_steps = 2000;  // weights that machines are solved for
};

class AlternationSolver : public MultitaskSolver {
 public:
  // Of a problem that must outlive this.
  AlternationSolver(const MultitaskProblem& problem, const AlternationOptions& options)
      : problem_(problem), options_(options), relative_gap_(options.relative_gap) {}

  absl::Status Start(RunContext& context) override;
  // About 0.2 s of work on a machine, or new weights.
  absl::Status Step(RunContext& context) override;
  void SetRelativeGap(double relative_gap) override;

  MultitaskStop stop() const override { return state_.stop; }
  const MultitaskBest& best() const override { return state_.best; }
  // Weights that machines were solved for.
  int64_t iterations() const override { return state_.steps; }
  double NextCost() const override { return 1e9; }

  void Save(ByteWriter& writer) const override;
  absl::Status Load(ByteReader& reader, RunContext& context) override;

 private:
  struct State {
    std::vector<Vector> duals;  // of the machines as they were solved last
    Matrix weights;
    Vector simplex;  // d, of the reduced gradient
    double machine_gap = 0;
    int64_t task = 0;  // whose machine is at hand
    bool solving = false;
    double lower = 0;  // of the optimum of the machines before it
    double upper = 0;
    // Where Newton's step began, the optimum there at most, and how often it was shortened.
    Vector newton_from;  // empty: the last step was none
    double newton_upper = 0;
    int64_t shortened = 0;
    int64_t steps = 0;
    MultitaskStop stop = MultitaskStop::kRunning;
    MultitaskBest best;

    static void VisitFields(auto& visit, auto& self, const MultitaskProblem& of) {
      visit(Nested(self.duals, NoSizes()), Sized(self.weights, of.num_tasks(), of.num_blocks()),
            Sized(self.simplex, of.num_blocks()), NotNegative(self.machine_gap), self.task,
            self.solving, Finite(self.lower), Finite(self.upper),
            SizedOrEmpty(self.newton_from, of.num_blocks()), Finite(self.newton_upper),
            self.shortened, self.steps, UpTo(self.stop, MultitaskStop::kIterationLimit),
            Nested(self.best, NoSizes()));
      visit.Require([&] {
        const auto are_weights = [](const auto& values) {
          return values.allFinite() && (values.array() >= 0).all();
        };
        return self.best.Fits(of) && DualsFit(self.duals, of) && self.task >= 0 &&
               self.task < of.num_tasks() + (self.solving ? 0 : 1) && are_weights(self.weights) &&
               are_weights(self.simplex) && self.newton_from.allFinite();
      });
    }
  };

  void TakeWeights(Matrix weights);
  absl::Status MakeMachine(RunContext& context);
  // Begins with the next task whose rows are of both classes; after the last one bounds the point.
  absl::Status StartMachine(RunContext& context);
  absl::Status EndMachines(RunContext& context);
  absl::Status MoveWeights(const MultitaskPoint& point, RunContext& context);
  absl::StatusOr<std::optional<Vector>> NewtonStep(const Vector& energies, RunContext& context);
  absl::StatusOr<std::optional<Matrix>> HessianOf(size_t t, const std::vector<Index>& blocks,
                                                  RunContext& context) const;

  const MultitaskProblem& problem_;
  const AlternationOptions options_;
  double relative_gap_;
  State state_;
  std::unique_ptr<KernelOperator> kernel_;  // of the machine at hand
  std::unique_ptr<InnerSolver> machine_;
  std::unique_ptr<ReducedGradientMethod> method_;
};

}  // namespace mercer
