// What the solvers of multi-task problems have in common, as far as their users can tell.
//
// Guarantees   Bounds are those of EvaluateMultitask, of the whole problem. Same bits for every
//              slicing into steps, save and restore, and number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/solvers/multitask/multitask_problem.h"

namespace mercer {

enum class MultitaskStop : uint8_t { kRunning, kRelativeGap, kPrecision, kIterationLimit };

// Whether there is one for each task, with a number for each of its rows.
bool DualsFit(const std::vector<Vector>& duals, const MultitaskProblem& problem);

// The best function of a run and the best dual, which may come from different points. What a model
// tells of the function stands here, so that one is made without another pass over the blocks.
struct MultitaskBest {
  std::vector<Vector> dual;  // of the function; of each task
  Matrix weights;            // tasks x blocks, of the function
  Matrix norms;              // the same
  Vector biases;             // of each task, of the function
  double primal = kInfinity;
  std::vector<Vector> lower_dual;
  double lower = -kInfinity;

  double RelativeGap() const { return MultitaskGap(primal, lower); }
  // True when the function is better than all before.
  bool Improve(const MultitaskPoint& point);
  // Takes the function of the point, with that objective, whatever there was.
  void TakeFunction(const MultitaskPoint& point, double objective);
  // Whether its sizes are those of the problem.
  bool Fits(const MultitaskProblem& problem) const;

  static void VisitFields(auto& visit, auto& self) {
    visit(Nested(self.dual, NoSizes()), Finite(self.weights), self.norms, self.biases,
          Finite(self.primal), Nested(self.lower_dual, NoSizes()), Finite(self.lower));
  }
};

// Whether no task has rows of both classes, so that constants are optimal.
bool IsTrivial(const MultitaskProblem& problem);
// The first task from `task` on with rows of both classes; the number of tasks when there is none.
int64_t NextMachine(const MultitaskProblem& problem, int64_t task);
// Where a run stands after so many steps, and one that has stopped when another gap is asked for.
MultitaskStop StopOf(const MultitaskBest& best, double relative_gap, int64_t steps,
                     int64_t max_steps);
MultitaskStop StopAtGap(MultitaskStop stop, const MultitaskBest& best, double relative_gap);

// Not thread-safe.
class MultitaskSolver {
 public:
  virtual ~MultitaskSolver() = default;

  // Begins; done() may hold at once. Errors: kInvalidArgument (CheckMultitaskProblem, exponents
  // that the solver is not for), kCancelled.
  virtual absl::Status Start(RunContext& context) = 0;
  // Some work, about 0.2 s at most where an iteration takes no longer. Errors: kCancelled, after
  // which Start or Load must follow.
  virtual absl::Status Step(RunContext& context) = 0;
  // Until done.
  absl::Status Run(RunContext& context);
  // One that has stopped at a larger gap goes on.
  virtual void SetRelativeGap(double relative_gap) = 0;

  bool done() const { return stop() != MultitaskStop::kRunning; }
  virtual MultitaskStop stop() const = 0;
  virtual const MultitaskBest& best() const = 0;
  virtual int64_t iterations() const = 0;
  // About how many floating point operations the next step takes.
  virtual double NextCost() const = 0;

  virtual void Save(ByteWriter& writer) const = 0;
  // Goes on where Save has left, for the same problem. Errors: kInvalidArgument, kCancelled.
  virtual absl::Status Load(ByteReader& reader, RunContext& context) = 0;
};

}  // namespace mercer
