// With thousands of pivots no single call may be long.
#include <gtest/gtest.h>

#include "core/learners/csi/csi.h"
#include "core/learners/registry.h"
#include "tests/support/cancelled_work.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

constexpr Index kRows = 3000;
constexpr Index kPivots = 2500;

// Coefficients of the first rows: a verifier does not ask how pivots were chosen.
Witness ManyPivots() {
  Witness witness;
  witness.tasks.push_back({Matrix::Zero(kRows, 1), Vector::Zero(1)});
  witness.arrays = {{"pivots", Matrix(Vector::LinSpaced(kPivots, 0, kPivots - 1))},
                    {"coefficients", Matrix::Constant(kPivots, 1, 1e-3)}};
  return witness;
}

TEST(CsiCancellationTest, VerificationOfThousandsOfPivotsEndsSoon) {
  const TrainingProblem problem = ToyProblem(TargetKind::kRegression, kRows, 12, {1.0});
  const Witness witness = ManyPivots();
  const LearnerEntry entry = csi::Entry();
  const OptionValues options = csi::CsiLearnerOptions::Fields().Values({.max_pivots = kPivots});
  const auto verify = [&](RunContext& context) {
    return entry.verify(options, problem, witness, context).status();
  };
  const double whole = WholeWork(verify);
  for (const double part : {0.1, 0.3, 0.5}) {
    EXPECT_LE(WorkAfterCancel(part * whole, verify), kMostWorkAfterCancel)
        << part << " of the verification";
  }
}

}  // namespace
}  // namespace mercer
