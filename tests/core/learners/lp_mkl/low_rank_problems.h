// Problems on kernels of low rank, and what has to hold of a run whatever its input.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/training/model/predictor.h"
#include "tests/core/learners/lp_mkl/lp_mkl_problems.h"

namespace mercer::lp_mkl {

inline OptionValues OnLandmarks(int64_t landmarks, OptionValues options) {
  options["approximation"] = std::string("nystrom");
  options["landmarks"] = landmarks;
  return options;
}

// Where landmarks come from: the words of landmark_selection, "own" before those of each kernel alone,
// and the kernels' own factors.
inline const std::vector<std::string>& LandmarkSelections() {
  static const auto& selections = *new std::vector<std::string>{
      "uniform", "k_means", "leverage", "pivoted_cholesky", "own leverage", "own pivoted_cholesky",
      "factors"};
  return selections;
}

inline OptionValues SelectedBy(const std::string& selection, OptionValues options) {
  if (selection == "factors") {
    options["approximation"] = std::string("pivoted_cholesky");
    return options;
  }
  const bool own = selection.rfind("own ", 0) == 0;
  options["landmark_selection"] = own ? selection.substr(4) : selection;
  options["own_landmarks"] = own;
  return options;
}

// One kernel of each of the types on all columns of `x`; classification, costs 1.
inline TrainingProblem ProblemOfTypes(const RowMatrix& x, const Vector& targets,
                                      const std::vector<KernelType>& types) {
  TrainingProblem problem = GaussianProblem(x, targets, {});
  for (const KernelType type : types) {
    problem.kernels.emplace_back().type = type;
  }
  return problem;
}

// The run reached its gap, or says that it cannot; its bounds hold and its function has values.
inline void ExpectHonest(const Fit& fit, const TrainingProblem& problem, double relative_gap,
                         const std::string& what) {
  const Certificate& certificate = fit.certificate;
  ASSERT_FALSE(fit.point.witness.tasks.empty()) << what;
  ASSERT_TRUE(std::isfinite(certificate.primal) && std::isfinite(certificate.dual)) << what;
  EXPECT_LE(certificate.dual, certificate.primal * (1 + 1e-12)) << what;
  EXPECT_GE(certificate.accuracy, -1e-12) << what;  // rounding
  EXPECT_TRUE(certificate.accuracy <= relative_gap ||
              fit.stop_reason == StopReason::kNumericalLimit)
      << what << ": accuracy " << certificate.accuracy << ", stop reason "
      << static_cast<int>(fit.stop_reason);
  EXPECT_TRUE(fit.weights().allFinite() && fit.weights().minCoeff() >= 0) << what;
  RunContext context;
  const auto values = EvaluateFunction(fit.point.function, *problem.tasks[0].inputs, context);
  ASSERT_TRUE(values.ok()) << what << ": " << values.status();
  EXPECT_TRUE(values->allFinite()) << what;
}

// The optimum of the hinge loss over constants: nothing else can be learned.
inline double OptimumOfConstants(const Vector& labels, double cost) {
  const auto positive = static_cast<double>((labels.array() > 0).count());
  return 2 * cost * std::min(positive, static_cast<double>(labels.size()) - positive);
}

}  // namespace mercer::lp_mkl
