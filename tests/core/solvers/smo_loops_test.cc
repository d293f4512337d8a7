// The vectorised loops against plain ones, bit for bit, on every instruction set of this processor.
#include "core/solvers/svm/smo_loops.h"

#include <algorithm>
#include <vector>

#include "hwy/highway.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"

namespace mercer::smo {
namespace {

// Runs `body` once for each instruction set.
template <typename Body>
void OnEveryTarget(const Body& body) {
  for (int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    const int64_t target = targets & -targets;
    hwy::SetSupportedTargetsForTest(target);
    SCOPED_TRACE(hwy::TargetName(target));
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
}

// Random numbers on a coarse grid, so that ties are frequent; some extras exclude.
template <typename T>
struct Arrays {
  std::vector<double> h;
  std::vector<double> up_cost;
  std::vector<double> down_gain;
  std::vector<T> diagonal;
  std::vector<T> column_i;
  std::vector<T> column_j;

  Arrays(uint64_t seed, size_t size) {
    RandomStream random(seed, "smo-loops-test");
    const auto coarse = [&] { return static_cast<double>(random.Below(17)) / 8 - 1; };
    for (size_t t = 0; t < size; ++t) {
      h.push_back(coarse());
      up_cost.push_back(random.Below(3) == 0 ? kInfinity : 0.25);
      down_gain.push_back(random.Below(3) == 0 ? -kInfinity : -0.25);
      diagonal.push_back(1);
      column_i.push_back(static_cast<T>(coarse()));
      column_j.push_back(static_cast<T>(random.Uniform()));
    }
  }
};

UpChoice PlainChooseUp(const std::vector<double>& h, const std::vector<double>& up_cost) {
  UpChoice choice;
  for (size_t t = 0; t < h.size(); ++t) {
    if (-h[t] - up_cost[t] > choice.score) {
      choice = {static_cast<Index>(t), -h[t] - up_cost[t]};
    }
  }
  return choice;
}

template <typename T>
DownChoice PlainChooseDown(const Arrays<T>& a, double diagonal_i, double score) {
  DownChoice choice;
  float best = -1;
  for (size_t t = 0; t < a.h.size(); ++t) {
    const double bb = score + (a.h[t] + a.down_gain[t]);
    choice.violation = std::max(choice.violation, bb);
    const T sum = static_cast<T>(diagonal_i) + a.diagonal[t];
    const T floor = static_cast<T>(sizeof(T) == 4 ? kSingleCurvatureFloor : kCurvatureFloor) * sum;
    const auto curvature = static_cast<float>(std::max(sum - 2 * a.column_i[t], floor));
    const auto single = static_cast<float>(bb);
    if (single > 0 && single * single / curvature > best) {
      best = single * single / curvature;
      choice.position = static_cast<Index>(t);
    }
  }
  return choice;
}

template <typename T>
void CheckAll() {
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{7}, size_t{16}, size_t{61}, size_t{1000}}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Arrays<T> a(seed, size);
      const auto n = static_cast<Index>(size);
      const UpChoice up = ChooseUp(a.h.data(), a.up_cost.data(), n);
      const UpChoice plain_up = PlainChooseUp(a.h, a.up_cost);
      EXPECT_EQ(up.position, plain_up.position) << size << " seed " << seed;
      EXPECT_EQ(up.score, plain_up.score);
      const DownTerms<T> terms{a.h.data(), a.down_gain.data(), a.diagonal.data(), n};
      const DownChoice down = ChooseDown(terms, a.column_i.data(), 1.0, 0.6);
      const DownChoice plain_down = PlainChooseDown(a, 1.0, 0.6);
      EXPECT_EQ(down.position, plain_down.position) << size << " seed " << seed;
      EXPECT_EQ(down.violation, plain_down.violation);
      std::vector<double> expected = a.h;
      for (size_t t = 0; t < size; ++t) {
        expected[t] +=
            0.3 * (static_cast<double>(a.column_i[t]) - static_cast<double>(a.column_j[t]));
      }
      const UpChoice next = UpdateAndChooseUp(a.h.data(), a.up_cost.data(), a.column_i.data(),
                                              a.column_j.data(), 0.3, n);
      EXPECT_EQ(a.h, expected);
      EXPECT_EQ(next.position, PlainChooseUp(expected, a.up_cost).position);
    }
  }
}

TEST(SmoLoopsTest, DoubleLoopsMatchPlainOnesBitForBit) { OnEveryTarget(CheckAll<double>); }

TEST(SmoLoopsTest, FloatLoopsMatchPlainOnesBitForBit) { OnEveryTarget(CheckAll<float>); }

TEST(SmoLoopsTest, ColumnsAreAddedInTheirOrder) {
  OnEveryTarget([] {
    const Arrays<double> a(3, 101);
    const double* columns[4] = {a.column_j.data(), a.column_i.data(), a.h.data(),
                                a.column_j.data()};
    const double weights[4] = {0.1, -0.7, 0.3, 1e-3};
    std::vector<double> out = a.column_j;
    std::vector<double> expected = out;
    AddFourColumns(columns, weights, out.data(), 101);
    for (size_t t = 0; t < expected.size(); ++t) {
      for (size_t k = 0; k < 4; ++k) {
        expected[t] += weights[k] * columns[k][t];
      }
    }
    EXPECT_EQ(out, expected);
  });
}

}  // namespace
}  // namespace mercer::smo
