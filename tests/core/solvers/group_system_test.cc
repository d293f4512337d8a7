#include "core/solvers/group/group_system.h"

#include <Eigen/Cholesky>
#include <gtest/gtest.h>

#include "core/base/process/cancellation.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

struct Example {
  // Groups of one column with a weight for each task, and shared ones when asked for; every `skip`th column has none.
  Example(Index columns, Index tasks, bool shared, bool equal_hessians, Index skip = 0);

  std::vector<std::shared_ptr<const Matrix>> hessians;
  std::unique_ptr<GroupSystem> system;
  Matrix matrix;  // of all unknowns, made entry by entry
};

Example::Example(Index columns, Index tasks, bool shared, bool equal_hessians, Index skip) {
  for (Index t = 0; t < tasks; ++t) {
    if (t > 0 && equal_hessians) {
      hessians.push_back(hessians.front());
      continue;
    }
    const Matrix rows = NormalMatrix(2 * columns, columns, 3 + static_cast<uint64_t>(t));
    hessians.push_back(std::make_shared<const Matrix>(rows.transpose() * rows));
  }
  system = std::make_unique<GroupSystem>(hessians);
  std::vector<Matrix> blocks;
  for (Index column = 0; column < columns; ++column) {
    if (skip > 0 && column % skip == 0) {
      continue;
    }
    std::vector<GroupUnknown> unknowns;
    for (Index t = 0; t < tasks; ++t) {
      unknowns.push_back({column, t});
    }
    // Of a norm: lambda (I / |x| - x x' / |x|^3).
    const Vector x = NormalMatrix(tasks, 1, 50 + static_cast<uint64_t>(column)).col(0);
    const double norm = x.norm();
    const Matrix hessian =
        20 * (Matrix::Identity(tasks, tasks) - x * x.transpose() / (norm * norm)) / norm;
    blocks.push_back(hessian);
    system->AddBlock(unknowns, x, hessian);
    if (shared) {
      blocks.push_back(Matrix::Constant(1, 1, 3));
      system->AddBlock({{column, -1}}, Vector::Constant(1, 0.5), blocks.back());
    }
  }
  system->AddRisk(Matrix::Constant(columns, tasks, 0.1));
  const std::vector<GroupUnknown>& unknowns = system->unknowns();
  const auto size = static_cast<Index>(unknowns.size());
  matrix = Matrix::Zero(size, size);
  Index at = 0;
  for (const Matrix& block : blocks) {
    matrix.block(at, at, block.rows(), block.rows()) = block;
    at += block.rows();
  }
  for (Index a = 0; a < size; ++a) {
    for (Index b = 0; b < size; ++b) {
      const GroupUnknown& row = unknowns[static_cast<size_t>(a)];
      const GroupUnknown& col = unknowns[static_cast<size_t>(b)];
      for (Index t = 0; t < tasks; ++t) {
        const bool both = (row.task < 0 || row.task == t) && (col.task < 0 || col.task == t);
        matrix(a, b) += both ? (*hessians[static_cast<size_t>(t)])(row.column, col.column) : 0.0;
      }
    }
  }
}

// 20 columns make a system that is factored, 150 one of 450 or 600 unknowns that is not, as do 220 when a third of them has none.
TEST(GroupSystemTest, FindsTheStepOfNewtonsMethod) {
  for (const Index columns : {20, 150, 220}) {
    for (const bool equal_hessians : {true, false}) {
      for (const bool shared : {false, true}) {
        const Example example(columns, 3, shared, equal_hessians, columns == 220 ? 3 : 0);
        RunContext context;
        const absl::StatusOr<std::optional<Vector>> step = example.system->Solve(context);
        ASSERT_TRUE(step.ok()) << step.status();
        ASSERT_TRUE(step->has_value());
        const Vector expected = -example.matrix.ldlt().solve(example.system->gradient());
        const double of_model = 0.5 * example.system->gradient().dot(expected);
        const double reached =
            example.system->gradient().dot(**step) + 0.5 * (**step).dot(example.matrix * **step);
        EXPECT_NEAR(reached, of_model, 1e-8 * std::abs(of_model)) << columns << shared;
      }
    }
  }
}

// 250 groups of two columns.
TEST(GroupSystemTest, LargeSystemsOfOneTaskAreFactored) {
  constexpr Index kColumns = 500;
  const Matrix rows = NormalMatrix(2 * kColumns, kColumns, 3);
  Matrix matrix = rows.transpose() * rows;
  const std::vector<std::shared_ptr<const Matrix>> hessians = {
      std::make_shared<const Matrix>(matrix)};
  GroupSystem system(hessians);
  for (Index first = 0; first < kColumns; first += 2) {
    const Vector x = NormalMatrix(2, 1, 50 + static_cast<uint64_t>(first)).col(0).normalized();
    const Matrix penalty = 1e4 * (Matrix::Identity(2, 2) - x * x.transpose());
    system.AddBlock({{first, 0}, {first + 1, 0}}, x, penalty);
    matrix.block(first, first, 2, 2) += penalty;
  }
  system.AddRisk(Matrix::Constant(kColumns, 1, 0.1));
  RunContext context;
  const auto step = system.Solve(context);
  ASSERT_TRUE(step.ok() && step->has_value()) << step.status();
  const Vector expected = -matrix.ldlt().solve(system.gradient());
  EXPECT_LE((**step - expected).norm(), 1e-8 * expected.norm());
}

TEST(GroupSystemTest, FindsTheBestStepWithSomeEntriesGiven) {
  for (const Index columns : {20, 150}) {
    for (const bool shared : {false, true}) {
      const Example example(columns, 3, shared, false);
      const Index size = example.system->size();
      Vector given = Vector::Constant(size, GroupSystem::kFree);
      std::vector<Index> kept;
      std::vector<Index> fixed;
      for (Index a = 0; a < size; ++a) {
        (a % 3 == 1 ? fixed : kept).push_back(a);
        given(a) = a % 3 == 1 ? 0.01 * static_cast<double>(a % 7) : given(a);
      }
      RunContext context;
      const auto step = example.system->Solve(given, context);
      ASSERT_TRUE(step.ok() && step->has_value()) << step.status();
      EXPECT_EQ((**step)(fixed), given(fixed));
      const Vector right = -example.system->gradient()(kept) -
                           Matrix(example.matrix(kept, fixed)) * Vector(given(fixed));
      Vector expected = given;
      const Vector best = Matrix(example.matrix(kept, kept)).ldlt().solve(right);
      expected(kept) = best;
      const auto model = [&](const Vector& at) {
        return example.system->gradient().dot(at) + 0.5 * at.dot(example.matrix * at);
      };
      EXPECT_NEAR(model(**step), model(expected), 1e-8 * std::abs(model(expected)))
          << columns << shared;
    }
  }
}

TEST(GroupSystemTest, SameBitsForEveryNumberOfThreads) {
  const Example example(150, 3, true, false);
  RunContext one;
  RunContext two(CancellationToken(), 2, nullptr);
  const auto alone = example.system->Solve(one);
  const auto together = example.system->Solve(two);
  ASSERT_TRUE(alone.ok() && together.ok());
  EXPECT_EQ(**alone, **together);
}

TEST(GroupSystemTest, EndsWithCancellation) {
  const Example example(150, 3, false, true);
  const CancellationToken token;
  token.Cancel();
  RunContext context(token, 1, nullptr);
  EXPECT_TRUE(absl::IsCancelled(example.system->Solve(context).status()));
}

}  // namespace
}  // namespace mercer
