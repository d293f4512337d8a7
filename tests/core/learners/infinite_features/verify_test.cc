#include "core/learners/infinite_features/verify.h"

#include <limits>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/core/learners/infinite_features/feature_problems.h"

namespace mercer::infinite_features {
namespace {

class VerifyFeaturesTest : public ::testing::Test {
 protected:
  VerifyFeaturesTest() : problem_(ThreeClassProblem(200, 21)) {
    problem_.relative_gap = 1e-4;
    outcome_ = MustTrain({{"max_groups", int64_t{8}}, {"lambda_shared", 0.01}, {"lambda", 0.01}},
                         problem_);
  }

  absl::StatusOr<Verification> VerifyWitness(const Witness& witness) const {
    RunContext context;
    return Verify(InfiniteFeaturesOptions(), problem_, witness, context);
  }
  static Matrix& Array(Witness& witness, std::string_view name) {
    for (auto& [key, value] : witness.arrays) {
      if (key == name) {
        return value;
      }
    }
    ADD_FAILURE() << name;
    return witness.arrays.front().second;
  }

  TrainingProblem problem_;
  TrainingOutcome outcome_;
};

TEST_F(VerifyFeaturesTest, BoundsHoldForEveryDualAndFallWithDistance) {
  const absl::StatusOr<Verification> exact = VerifyWitness(outcome_.point.witness);
  ASSERT_TRUE(exact.ok()) << exact.status();
  EXPECT_LE(exact->certificate.accuracy, 1e-4);
  Witness changed = outcome_.point.witness;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    changed.tasks[0].dual = outcome_.point.witness.tasks[0].dual + NormalMatrix(200, 3, seed);
    const absl::StatusOr<Verification> far = VerifyWitness(changed);
    ASSERT_TRUE(far.ok()) << far.status();
    EXPECT_EQ(far->certificate.primal, exact->certificate.primal);
    EXPECT_LE(far->certificate.dual, exact->certificate.primal);
    EXPECT_GE(far->certificate.dual, 0);
    EXPECT_LT(far->certificate.dual, exact->certificate.dual);
  }
}

TEST_F(VerifyFeaturesTest, OtherWeightsCostMore) {
  const double best = VerifyWitness(outcome_.point.witness)->certificate.primal;
  for (const char* name : {"specific", "shared"}) {
    Witness changed = outcome_.point.witness;
    Array(changed, name).array() += 0.05;
    const absl::StatusOr<Verification> other = VerifyWitness(changed);
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_GT(other->certificate.primal, best);
  }
}

TEST_F(VerifyFeaturesTest, WhatDoesNotFitIsAMismatch) {
  const auto expect_mismatch = [this](const auto& change) {
    Witness witness = outcome_.point.witness;
    change(witness);
    const absl::Status status = VerifyWitness(witness).status();
    EXPECT_EQ(GetReason(status), "WITNESS_MISMATCH") << status;
  };
  expect_mismatch([](Witness& witness) { Array(witness, "scales")(0, 0) *= 1.001; });
  expect_mismatch([](Witness& witness) { Array(witness, "scales")(1, 0) = 0; });
  expect_mismatch([](Witness& witness) { Array(witness, "parameters")(0, 1) += 0.1; });
  expect_mismatch([](Witness& witness) { Array(witness, "parameters")(0, 0) = -1; });
  expect_mismatch([](Witness& witness) { Array(witness, "specific").conservativeResize(4, 3); });
  expect_mismatch([](Witness& witness) {
    Array(witness, "shared")(0, 0) = std::numeric_limits<double>::quiet_NaN();
  });
  expect_mismatch([](Witness& witness) { witness.arrays.clear(); });
  expect_mismatch([](Witness& witness) { witness.values[0].second = 0; });
  expect_mismatch([](Witness& witness) { witness.values[0].second = kInfinity; });
}

}  // namespace
}  // namespace mercer::infinite_features
