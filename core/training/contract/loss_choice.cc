#include "core/training/contract/loss_choice.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/solvers/svm/smo.h"
#include "core/training/contract/single_task.h"

namespace mercer {
namespace {

LossKind KindOf(LossChoice choice, TargetKind kind) {
  switch (choice) {
    case LossChoice::kAuto:
      break;
    case LossChoice::kHinge:
      return LossKind::kHinge;
    case LossChoice::kSquaredHinge:
      return LossKind::kSquaredHinge;
    case LossChoice::kLogistic:
      return LossKind::kLogistic;
    case LossChoice::kEpsilonInsensitive:
      return LossKind::kEpsilonInsensitive;
    case LossChoice::kSquare:
      return LossKind::kSquare;
  }
  return kind == TargetKind::kClassification ? LossKind::kHinge : LossKind::kEpsilonInsensitive;
}

}  // namespace

std::vector<std::pair<std::string, LossChoice>> LossWords() {
  return {{"auto", LossChoice::kAuto},
          {"hinge", LossChoice::kHinge},
          {"squared_hinge", LossChoice::kSquaredHinge},
          {"logistic", LossChoice::kLogistic},
          {"epsilon_insensitive", LossChoice::kEpsilonInsensitive},
          {"square", LossChoice::kSquare}};
}

OptionDoc LossDoc(std::string source) {
  return {.meaning =
              "What a score f costs at a target y. auto: hinge for classes, "
              "epsilon_insensitive for numbers. Classes: hinge max(0, 1 - y f), "
              "squared_hinge max(0, 1 - y f)^2, logistic log(1 + exp(-y f)). Numbers: "
              "epsilon_insensitive max(0, |y - f| - epsilon), square (y - f)^2. None has a "
              "factor 1/2. With squared_hinge, logistic and square most rows are support "
              "vectors.",
          .source = std::move(source),
          .classification_choices = {"hinge", "squared_hinge", "logistic"},
          .regression_choices = {"epsilon_insensitive", "square"}};
}

OptionDoc EpsilonDoc() {
  return {.meaning =
              "Regression only: with the loss epsilon_insensitive residuals up to "
              "epsilon cost nothing. Larger gives fewer support vectors.",
          .unit = "standard deviation of the target; with target_scaling NONE that of the target",
          .min = 0.0,
          .max_open = true,
          .source = "LIBSVM's default",
          .regression_only = true};
}

absl::StatusOr<std::unique_ptr<Loss>> MakeChosenLoss(LossChoice choice, double epsilon,
                                                     TargetKind kind) {
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<Loss> loss, MakeLoss(KindOf(choice, kind), epsilon));
  const bool classification = kind == TargetKind::kClassification;
  FieldViolations violations;
  violations.Check(loss->is_margin_loss() == classification, "loss",
                   absl::StrCat(std::string(loss->name()), " is for ",
                                classification ? "regression; this is classification"
                                               : "classification; this is regression"));
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  return loss;
}

bool IsCurved(LossChoice choice) {
  return choice == LossChoice::kSquaredHinge || choice == LossChoice::kLogistic ||
         choice == LossChoice::kSquare;
}

ByteCount MachineBytes(LossChoice choice, const ProblemShape& shape) {
  const ByteCount rows(shape.rows);
  const ByteCount system = rows * rows * ByteCount(sizeof(double));
  return IsCurved(choice) ? system : std::max(system, SmoColumnBytes(shape.rows, SmoOptions()));
}

double CountCurvedSystems(LossChoice choice, double C, double machines) {
  const double digits = std::max(0.0, std::log10(C));
  switch (choice) {
    case LossChoice::kSquare:
      return machines;
    case LossChoice::kSquaredHinge:
      return 0.3 * (4 + 2 * digits + machines);
    default:
      return 4 + 4 * digits + machines;
  }
}

WorkCount CurvedWork(const ProblemShape& shape, double systems, double hessians) {
  WorkCount work;
  work[WorkKind::kFactorOperations] =
      (systems + hessians) * CountPairs(shape) * static_cast<double>(shape.rows) * 2 / 3;
  work[WorkKind::kEntries] = systems * 2 * CountPairs(shape);
  work[WorkKind::kReads] = systems * 8 * CountPairs(shape);
  return work;
}

}  // namespace mercer
