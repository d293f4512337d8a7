// The options `loss` and `epsilon` of learners that solve machines with any loss, and what follows
// from the choice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/status/byte_count.h"
#include "core/base/status/options.h"
#include "core/objectives/loss.h"
#include "core/training/contract/problem.h"
#include "core/training/contract/work.h"

namespace mercer {

enum class LossChoice : uint8_t {
  kAuto,
  kHinge,
  kSquaredHinge,
  kLogistic,
  kEpsilonInsensitive,
  kSquare
};

// The words of the option `loss`, and what readers are told of both options.
std::vector<std::pair<std::string, LossChoice>> LossWords();
OptionDoc LossDoc(std::string source);
OptionDoc EpsilonDoc();

// The loss that the options ask for; auto: hinge for classes, epsilon-insensitive for numbers.
// Errors: kInvalidArgument naming the field "loss" when it is not one for such targets.
absl::StatusOr<std::unique_ptr<Loss>> MakeChosenLoss(LossChoice choice, double epsilon,
                                                     TargetKind kind);

// Whether the choice is a loss with a curvature: solved by Newton's method on the primal, never by
// pair steps.
bool IsCurved(LossChoice choice);

// Upper bound on what the solver of a formed kernel has beside it and vectors: the system of all
// rows of a loss with a curvature; else that or the columns of SMO.
ByteCount MachineBytes(LossChoice choice, const ProblemShape& shape);
// Newton systems of a run of so many machines with a loss with a curvature, each as a share of one
// of all rows. Compared with counts at C = 1 and 1000 only.
double CountCurvedSystems(LossChoice choice, double C, double machines);
// The work of so many systems of formed kernels, and of as many Hessians of kernel weights, each a
// factorisation more.
WorkCount CurvedWork(const ProblemShape& shape, double systems, double hessians);

}  // namespace mercer
