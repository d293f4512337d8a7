#include "core/training/run/machine_rates.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/random.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/objectives/loss.h"
#include "core/solvers/svm/smo.h"

namespace mercer {
namespace {

// Large enough that a Gram matrix exceeds the second-level cache, as it does in every training that
// takes noticeable time.
constexpr Index kRows = 640;
constexpr Index kColumns = 64;
constexpr Index kSearchKernels = 16;
// Of several measurements the least is the one that was disturbed least.
constexpr int kRepetitions = 2;
// Repetitions of the measurements that write a matrix: all but the first find their memory touched
// already, so that the least is without the first touch, whose cost varies most.
constexpr int kMatrixRepetitions = 6;
// What a training writes is mostly memory that it has just been given: a first touch costs about
// twice the rest.
constexpr double kFreshMemory = 3;
// What is taken where a measurement fails for want of memory, and the least of all results: one
// operation of a fast machine.
constexpr double kLeastSeconds = 1e-11;

double ThreadSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double LeastSeconds(const std::function<void()>& work, int repetitions = kRepetitions) {
  double least = HUGE_VAL;
  for (int i = 0; i < repetitions; ++i) {
    const double start = ThreadSeconds();
    work();
    least = std::min(least, ThreadSeconds() - start);
  }
  return least;
}

class Measurement {
 public:
  Measurement() {
    auto data = std::make_shared<PreparedData>();
    data->rows = kRows;
    RandomStream random(1, "rates");
    for (const Index columns : {kFewColumns, kColumns}) {
      RowMatrix x(kRows, columns);
      for (Index i = 0; i < kRows; ++i) {
        for (Index j = 0; j < columns; ++j) {
          x(i, j) = random.Uniform();
        }
      }
      PreparedBlock block;
      block.name = columns == kColumns ? "many" : "few";
      for (Index j = 0; j < columns; ++j) {
        block.sources.push_back(block.name + std::to_string(j));
      }
      block.values = SharedMatrix(std::move(x));
      data->blocks.push_back(std::move(block));
    }
    data_ = std::move(data);
    labels_ = Vector(kRows);
    for (Index i = 0; i < kRows; ++i) {
      labels_(i) = random.Uniform() < 0.5 ? -1.0 : 1.0;
    }
  }

  WorkCount Run() {
    WorkCount rates;
    rates[WorkKind::kProductColumns] = ColumnSeconds(KernelType::kGaussian);
    rates[WorkKind::kAbsoluteColumns] = ColumnSeconds(KernelType::kLaplacian);
    rates[WorkKind::kChiSquareColumns] = ColumnSeconds(KernelType::kChiSquare);
    const std::unique_ptr<KernelFamily> family =
        Family(KernelType::kGaussian, "few", kSearchKernels);
    if (family != nullptr) {
      MeasureKernels(*family, rates);
    }
    rates[WorkKind::kReads] = ReadSeconds();
    for (size_t i = 0; i < kNumWorkKinds; ++i) {
      double& rate = rates[static_cast<WorkKind>(i)];
      rate = std::max(rate, kLeastSeconds);
    }
    rates[WorkKind::kFamilies] = 0;  // counted as columns
    return rates;
  }

 private:
  static constexpr Index kFewColumns = 4;
  static constexpr double kPairs = 0.5 * kRows * kRows;

  // A family of such kernels on random rows; null when there is no memory.
  std::unique_ptr<KernelFamily> Family(KernelType type, const std::string& block, Index kernels) {
    std::vector<KernelSpec> specs;
    for (Index k = 0; k < kernels; ++k) {
      KernelSpec spec;
      spec.type = type;
      spec.block = block;
      spec.bandwidth = 1.0 + static_cast<double>(k);
      specs.push_back(std::move(spec));
    }
    absl::StatusOr<std::unique_ptr<KernelFamily>> family =
        MakeExactKernelFamily(data_, {}, specs, context_);
    return family.ok() ? *std::move(family) : nullptr;
  }

  // Seconds for one column of a distance: the difference of what many columns and few take.
  double ColumnSeconds(KernelType type) {
    const double many = LeastSeconds([&] { Family(type, "many", 1); });
    const double few = LeastSeconds([&] { Family(type, "few", 1); });
    return (many - few) / (kPairs * static_cast<double>(kColumns - kFewColumns));
  }

  void MeasureKernels(const KernelFamily& family, WorkCount& rates) {
    Vector one = Vector::Zero(kSearchKernels);
    one(0) = 1;
    std::unique_ptr<KernelOperator> kernel;
    const auto combine = [&](const Vector& weights) {
      return LeastSeconds(
          [&] {
            auto combined = family.Combine(weights, context_);
            kernel = combined.ok() ? *std::move(combined) : nullptr;
          },
          kMatrixRepetitions);
    };
    // A combination is the values of its kernels and a matrix of their sums.
    const double single = combine(one);
    const double all = combine(Vector::Ones(kSearchKernels));
    const double value = (all - single) / (kPairs * (kSearchKernels - 1));
    rates[WorkKind::kKernelValues] = value;
    rates[WorkKind::kEntries] = kFreshMemory * (single - kPairs * value) / (2 * kPairs);
    const auto search = [&](Index kernels) {
      Vector weights = Vector::Zero(kSearchKernels);
      weights.head(kernels).setOnes();
      return LeastSeconds(
          [&] { family.CombineForSearch(weights, context_).status().IgnoreError(); });
    };
    rates[WorkKind::kSearchValues] = std::max(
        (search(kSearchKernels) - search(kSearchKernels / 2)) / (kPairs * kSearchKernels / 2),
        0.1 * value);
    if (kernel != nullptr) {
      rates[WorkKind::kPairSteps] = PairStepSeconds(*kernel);
    }
    rates[WorkKind::kFactorOperations] = FactorSeconds();
  }

  double PairStepSeconds(const KernelOperator& kernel) {
    constexpr int64_t kIterations = 400;
    const SvmProblem problem{MakeHinge(), labels_, Vector::Constant(kRows, 10.0)};
    double least = HUGE_VAL;
    SmoOptions options;
    options.relative_gap = 0;
    SmoSolver solver(kernel, options);
    for (int i = 0; problem.loss != nullptr && i < kRepetitions; ++i) {
      if (solver.Start(problem, {}, context_).ok()) {
        const double start = ThreadSeconds();
        solver.Step(kIterations, context_).IgnoreError();
        const double count = static_cast<double>(std::max<int64_t>(solver.iterations(), 1) * kRows);
        least = std::min(least, (ThreadSeconds() - start) / count);
      }
    }
    return std::isfinite(least) ? least : 0;
  }

  static std::shared_ptr<const Loss> MakeHinge() {
    absl::StatusOr<std::unique_ptr<Loss>> loss = MakeLoss(LossKind::kHinge, 0);
    return loss.ok() ? std::shared_ptr<const Loss>(*std::move(loss)) : nullptr;
  }

  double FactorSeconds() {
    const double size = static_cast<double>(kRows);
    double least = HUGE_VAL;
    Matrix matrix;
    for (int i = 0; i < kRepetitions; ++i) {
      matrix = Matrix::Identity(kRows, kRows) * size;
      matrix.array() += 1;
      least =
          std::min(least, LeastSeconds([&] { FactorCholesky(matrix, context_).IgnoreError(); }, 1));
    }
    return least / (size * size * size / 3);
  }

  // Of a matrix that exceeds the second-level cache by far.
  static double ReadSeconds() {
    constexpr Index kReadRows = 1400;
    const Matrix matrix = Matrix::Ones(kReadRows, kReadRows);
    const Vector vector = Vector::Ones(kReadRows);
    Vector product(kReadRows);
    return LeastSeconds([&] { product.noalias() = matrix.transpose() * vector; }) /
           static_cast<double>(matrix.size());
  }

  std::shared_ptr<const PreparedData> data_;
  Vector labels_;
  RunContext context_;
};

}  // namespace

WorkCount UsualRates() {
  WorkCount rates;
  rates[WorkKind::kProductColumns] = 1.3e-10;
  rates[WorkKind::kAbsoluteColumns] = 4.2e-11;
  rates[WorkKind::kChiSquareColumns] = 1.7e-10;
  rates[WorkKind::kKernelValues] = 4.8e-10;
  rates[WorkKind::kSearchValues] = 5e-11;
  rates[WorkKind::kEntries] = 2.8e-9;
  rates[WorkKind::kReads] = 2.5e-10;
  rates[WorkKind::kPairSteps] = 1.3e-9;
  rates[WorkKind::kFactorOperations] = 2.8e-11;
  return rates;
}

WorkCount MeasureRates() { return Measurement().Run(); }

}  // namespace mercer
