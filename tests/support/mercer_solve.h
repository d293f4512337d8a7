// mercer-solve: solves fixture files with the core alone. tests/fixtures/README.md describes its
// answers.
#pragma once

#include "absl/status/statusor.h"
#include <nlohmann/json.hpp>

namespace mercer::solve {

// What one file or case answers: `body` is the value of "result", or of "cases" for a file of
// cases.
struct Answer {
  nlohmann::json body;
  double gap_relative = 0;  // the worst certified one
};

// The gap to solve to, as a part of the gap that the fixture asks for.
inline constexpr double kTighter = 0.5;

// One function per kind. A refused input is an error, whose text names the meaning
// (mercer_solve_json.h).
absl::StatusOr<Answer> SolveLowRank(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveGaussian(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveTikhonov(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveEdgeCases(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveMulticlass(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveCertificate(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveWeightUpdate(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveNormalisation(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveSvm(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveMixedNorm(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveMixedNormPairs(const nlohmann::json& fixture);
// Learning with infinitely many features, and what its paper compares it with.
absl::StatusOr<Answer> SolveGroupProblem(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveProxAndLosses(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveFeatures(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveFiniteFeatures(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveInfiniteKernels(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveCsi(const nlohmann::json& fixture);
// Several tasks that share blocks of columns or kernels, and measures of their scores.
absl::StatusOr<Answer> SolveMultitask(const nlohmann::json& fixture);
// Recursive feature elimination.
absl::StatusOr<Answer> SolveSvmRfe(const nlohmann::json& fixture);
// Gradients of a function, of fixed and of learnt weights of the coordinates.
absl::StatusOr<Answer> SolveFixedGradients(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveCoordinateWeights(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveHessianGradients(const nlohmann::json& fixture);
absl::StatusOr<Answer> SolveLinearGradients(const nlohmann::json& fixture);
absl::StatusOr<Answer> RefuseGradients(const nlohmann::json& fixture);

}  // namespace mercer::solve
