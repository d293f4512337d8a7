// What every loss promises, checked on every loss.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/objectives/loss.h"

namespace mercer {
namespace {

struct Anchor {
  double target;
  double cost;
  double score;
  double value;
};

struct LossCase {
  LossKind kind;
  double epsilon;
  std::vector<Anchor> anchors;  // values worked out by hand from the definition
};

std::ostream& operator<<(std::ostream& out, const LossCase& loss_case) {
  return out << (*MakeLoss(loss_case.kind, loss_case.epsilon))->name();
}

const double kLog2 = std::log(2.0);

std::vector<LossCase> LossCases() {
  return {
      {LossKind::kHinge,
       0,
       {{1, 1, 0, 1}, {-1, 2, 0.5, 3}, {1, 1, 3, 0}, {-1, 1, -1, 0}, {1, 0.5, -3, 2}}},
      {LossKind::kEpsilonInsensitive,
       0.25,
       {{2, 1, 2.25, 0}, {2, 2, 3, 1.5}, {0, 1, -1, 0.75}, {-1, 1, -0.75, 0}}},
      {LossKind::kSquare, 0, {{1, 1, 0, 1}, {3, 2, 1, 8}, {-1, 0.5, -1, 0}, {0, 1, -4, 16}}},
      {LossKind::kSquaredHinge, 0, {{1, 1, 0, 1}, {-1, 2, 1, 8}, {1, 1, 2, 0}, {-1, 1, -1, 0}}},
      {LossKind::kLogistic,
       0,
       {{1, 1, 0, kLog2}, {-1, 2, 0, 2 * kLog2}, {1, 1, -1000, 1000}, {-1, 1, -1000, 0}}},
  };
}

TEST(LossListTest, EveryLossHasAnchors) {
  std::vector<std::string_view> anchored;
  for (const LossCase& loss_case : LossCases()) {
    anchored.push_back((*MakeLoss(loss_case.kind, loss_case.epsilon))->name());
  }
  std::vector<std::string_view> listed;
  for (const LossFormula& loss : AllLosses()) {
    listed.push_back(loss.name);
  }
  EXPECT_THAT(anchored, testing::UnorderedElementsAreArray(listed));
}

class LossConformance : public testing::TestWithParam<LossCase> {
 protected:
  LossConformance() : loss_(*MakeLoss(GetParam().kind, GetParam().epsilon)) {}

  std::vector<double> Targets() const {
    return loss_->is_margin_loss() ? std::vector<double>{-1, 1} : std::vector<double>{-2.5, 0, 1.5};
  }
  static std::vector<double> Costs() { return {0.3, 1, 7}; }
  // Scores that no kink of the losses with the targets above falls on, and the distance to one is
  // at least 1e-3.
  static std::vector<double> Scores() { return {-5.01, -1.52, -0.33, 0.017, 0.71, 1.93, 4.4}; }
  // Scores at kinks and beside them.
  std::vector<double> Kinks(double target) const {
    return loss_->is_margin_loss()
               ? std::vector<double>{target}
               : std::vector<double>{target - loss_->epsilon(), target + loss_->epsilon()};
  }

  double TotalAt(const Vector& targets, const Vector& costs, const Vector& scores,
                 double bias) const {
    return loss_->TotalValue(targets, costs, scores, bias);
  }

  std::unique_ptr<Loss> loss_;
};

TEST_P(LossConformance, HasItsStatedValues) {
  for (const Anchor& anchor : GetParam().anchors) {
    EXPECT_NEAR(loss_->Value(anchor.target, anchor.cost, anchor.score), anchor.value,
                1e-14 * (1 + anchor.value))
        << "target " << anchor.target << " score " << anchor.score;
  }
}

TEST_P(LossConformance, SlopeAndCurvatureMatchDifferencesAwayFromKinks) {
  const double h = 1e-4;
  for (const double target : Targets()) {
    for (const double cost : Costs()) {
      for (const double score : Scores()) {
        const double up = loss_->Value(target, cost, score + h);
        const double down = loss_->Value(target, cost, score - h);
        EXPECT_NEAR(loss_->Slope(target, cost, score), (up - down) / (2 * h), 1e-6 * cost)
            << target << " " << score;
        const double second =
            (loss_->Slope(target, cost, score + h) - loss_->Slope(target, cost, score - h)) /
            (2 * h);
        EXPECT_NEAR(loss_->Curvature(target, cost, score), second, 1e-6 * cost)
            << target << " " << score;
      }
    }
  }
}

TEST_P(LossConformance, SlopeIsASubgradientEverywhere) {
  for (const double target : Targets()) {
    std::vector<double> points = Kinks(target);
    for (const double score : Scores()) {
      points.push_back(score);
    }
    for (const double point : points) {
      const double value = loss_->Value(target, 2.0, point);
      const double slope = loss_->Slope(target, 2.0, point);
      for (double other = -6; other <= 6; other += 0.05) {
        EXPECT_GE(loss_->Value(target, 2.0, other), value + slope * (other - point) - 1e-12)
            << point << " to " << other;
      }
    }
  }
}

TEST_P(LossConformance, IsConvex) {
  for (const double target : Targets()) {
    for (double a = -6; a <= 6; a += 0.37) {
      for (double b = a; b <= 6; b += 0.41) {
        EXPECT_LE(loss_->Value(target, 1.5, 0.5 * (a + b)),
                  0.5 * loss_->Value(target, 1.5, a) + 0.5 * loss_->Value(target, 1.5, b) + 1e-12);
      }
    }
  }
}

// The supremum over a fine grid is at most the conjugate, and within the grid's error of it while
// the maximiser is inside.
TEST_P(LossConformance, ConjugateMatchesBruteForce) {
  for (const double target : Targets()) {
    for (const double cost : Costs()) {
      for (const double score : Scores()) {
        const double slope = loss_->Slope(target, cost, score);
        double brute = -kInfinity;
        for (double x = -8; x <= 8; x += 1e-4) {
          brute = std::max(brute, slope * x - loss_->Value(target, cost, x));
        }
        const double conjugate = loss_->Conjugate(target, cost, slope);
        EXPECT_LE(brute, conjugate + 1e-9) << target << " " << cost << " " << slope;
        EXPECT_NEAR(brute, conjugate, 2e-3 * cost) << target << " " << cost << " " << slope;
      }
    }
  }
}

TEST_P(LossConformance, ConjugateIsInfiniteOutsideTheDualBoxAndFiniteInside) {
  for (const double target : Targets()) {
    const Interval box = loss_->DualBox(target, 2.0);
    EXPECT_LE(box.low, 0.0);
    EXPECT_GE(box.high, 0.0);
    for (const double end : {box.low, box.high}) {
      if (std::isfinite(end)) {
        EXPECT_TRUE(std::isfinite(loss_->Conjugate(target, 2.0, -end)));
        EXPECT_EQ(loss_->Conjugate(target, 2.0, -(end + (end == box.low ? -1e-3 : 1e-3))),
                  kInfinity);
      } else {
        EXPECT_TRUE(std::isfinite(loss_->Conjugate(target, 2.0, end > 0 ? -1e6 : 1e6)));
      }
    }
  }
}

TEST_P(LossConformance, FenchelYoungHoldsWithEqualityAtSlope) {
  for (const double target : Targets()) {
    for (const double cost : Costs()) {
      for (const double score : Scores()) {
        const double slope = loss_->Slope(target, cost, score);
        const double sum =
            loss_->Value(target, cost, score) + loss_->Conjugate(target, cost, slope);
        EXPECT_NEAR(sum, slope * score, 1e-12 * (1 + cost * score * score))
            << target << " " << cost << " " << score;
        for (const double other : Scores()) {
          EXPECT_GE(loss_->Value(target, cost, other) + loss_->Conjugate(target, cost, slope),
                    slope * other - 1e-11);
        }
      }
    }
  }
}

TEST_P(LossConformance, ProxBeatsCompetitors) {
  for (const double target : Targets()) {
    for (const double cost : Costs()) {
      for (const double step : {0.01, 0.7, 20.0}) {
        for (const double point : Scores()) {
          const double x = loss_->Prox(target, cost, point, step);
          const auto objective = [&](double z) {
            return loss_->Value(target, cost, z) + (z - point) * (z - point) / (2 * step);
          };
          for (const double distance : {1e-4, 1e-2, 0.3, 2.0}) {
            EXPECT_LE(objective(x), objective(x + distance) + 1e-12 * (1 + objective(x)))
                << point << " step " << step;
            EXPECT_LE(objective(x), objective(x - distance) + 1e-12 * (1 + objective(x)))
                << point << " step " << step;
          }
          // The optimality condition: (point - x) / step is a subgradient at x.
          const double slope = (point - x) / step;
          for (const double other : Scores()) {
            EXPECT_GE(loss_->Value(target, cost, other),
                      loss_->Value(target, cost, x) + slope * (other - x) - 1e-9 * (1 + cost));
          }
        }
      }
    }
  }
}

TEST_P(LossConformance, ExactBiasBeatsEveryOtherBias) {
  RandomStream random(11, "loss-conformance-bias");
  for (int trial = 0; trial < 40; ++trial) {
    const Index n = 2 + static_cast<Index>(random.Below(9));
    Vector targets(n);
    Vector costs(n);
    Vector scores(n);
    for (Index i = 0; i < n; ++i) {
      targets(i) = loss_->is_margin_loss() ? (i % 2 == 0 ? 1.0 : -1.0) : random.Normal();
      costs(i) = trial % 3 == 0 ? 1.0 : 0.1 + random.Uniform();
      scores(i) = 2 * random.Normal();
    }
    const BiasInterval bias = loss_->ExactBias(targets, costs, scores, RunContext()).value();
    ASSERT_LE(bias.low, bias.chosen);
    ASSERT_LE(bias.chosen, bias.high);
    const double best = TotalAt(targets, costs, scores, bias.chosen);
    const double slack = 1e-12 * (1 + best);
    EXPECT_NEAR(TotalAt(targets, costs, scores, bias.low), best, 1e-10 * (1 + best));
    EXPECT_NEAR(TotalAt(targets, costs, scores, bias.high), best, 1e-10 * (1 + best));
    for (double b = -12; b <= 12; b += 0.01) {
      EXPECT_GE(TotalAt(targets, costs, scores, b), best - slack)
          << "bias " << b << " beats " << bias.chosen;
    }
    // Outside the interval the risk is larger.
    EXPECT_GT(TotalAt(targets, costs, scores, bias.high + 1e-2), best);
    EXPECT_GT(TotalAt(targets, costs, scores, bias.low - 1e-2), best);
  }
}

TEST_P(LossConformance, SamplesOfCostZeroDoNotMoveTheBias) {
  const Vector targets{{1, -1, 1, -1}};
  const Vector scores{{0.3, -0.2, -0.9, 7.0}};
  const BiasInterval with =
      loss_->ExactBias(targets, Vector{{1, 2, 0.5, 0}}, scores, RunContext()).value();
  const BiasInterval without =
      loss_->ExactBias(targets.head(3), Vector{{1, 2, 0.5}}, scores.head(3), RunContext()).value();
  EXPECT_NEAR(with.chosen, without.chosen, 1e-12);
  EXPECT_NEAR(with.low, without.low, 1e-12);
  EXPECT_NEAR(with.high, without.high, 1e-12);
}

TEST_P(LossConformance, RepairedDualIsFeasibleAndFeasibleDualsStay) {
  RandomStream random(5, "loss-conformance-dual");
  const Index n = 30;
  Vector targets(n);
  Vector costs(n);
  Vector dual(n);
  for (Index i = 0; i < n; ++i) {
    targets(i) = i % 3 == 0 ? -1.0 : 1.0;
    costs(i) = 0.2 + random.Uniform();
    dual(i) = 2 * random.Normal();
  }
  dual(3) = std::nan("");
  loss_->RepairDual(targets, costs, true, dual);
  EXPECT_NEAR(dual.sum(), 0.0, 1e-13 * dual.lpNorm<1>());
  EXPECT_GT(dual.lpNorm<1>(), 0.0);
  for (Index i = 0; i < n; ++i) {
    const Interval box = loss_->DualBox(targets(i), costs(i));
    EXPECT_GE(dual(i), box.low);
    EXPECT_LE(dual(i), box.high);
  }
  EXPECT_TRUE(std::isfinite(loss_->DualValue(targets, costs, dual)));
  Vector again = dual;
  loss_->RepairDual(targets, costs, true, again);
  EXPECT_LE((again - dual).lpNorm<Eigen::Infinity>(), 1e-14);
}

// Weak duality for one kernel, K = I: any feasible dual bounds the primal of any f and b from
// below.
TEST_P(LossConformance, DualValueBoundsThePrimal) {
  RandomStream random(9, "loss-conformance-duality");
  const Index n = 12;
  for (int trial = 0; trial < 50; ++trial) {
    Vector targets(n);
    Vector dual(n);
    Vector scores(n);
    for (Index i = 0; i < n; ++i) {
      targets(i) = i % 2 == 0 ? 1.0 : -1.0;
      dual(i) = random.Normal();
      scores(i) = random.Normal();
    }
    const Vector costs = Vector::Constant(n, 0.8);
    loss_->RepairDual(targets, costs, true, dual);
    const double lower = loss_->DualValue(targets, costs, dual) - 0.5 * dual.squaredNorm();
    const double upper =
        0.5 * scores.squaredNorm() + loss_->TotalValue(targets, costs, scores, random.Normal());
    EXPECT_LE(lower, upper);
  }
}

// The kinds are numbered from 0; MakeLoss refuses the number after the last.
TEST(LossCasesTest, EveryKindOfLossHasACase) {
  const std::vector<LossCase> cases = LossCases();
  size_t count = 0;
  for (auto made = MakeLoss(LossKind{}); made.ok(); made = MakeLoss(static_cast<LossKind>(count))) {
    const auto found = std::count_if(cases.begin(), cases.end(), [&](const LossCase& loss_case) {
      return loss_case.kind == (*made)->kind();
    });
    EXPECT_EQ(found, 1) << "LossCases() needs one case of '" << (*made)->name() << "'";
    ++count;
  }
  EXPECT_EQ(cases.size(), count);
}

INSTANTIATE_TEST_SUITE_P(AllLosses, LossConformance, testing::ValuesIn(LossCases()),
                         [](const testing::TestParamInfo<LossCase>& loss_case) {
                           return std::string(
                               (*MakeLoss(loss_case.param.kind, loss_case.param.epsilon))->name());
                         });

}  // namespace
}  // namespace mercer
