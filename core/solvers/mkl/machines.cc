#include "core/solvers/mkl/machines.h"

#include <algorithm>
#include <utility>

#include "core/base/process/side_by_side.h"
#include "core/base/status/status_macros.h"
#include "core/solvers/mkl/weight_hessian.h"
#include "core/solvers/svm/curved_samples.h"

namespace mercer {
namespace {

// What machines are stepped at a time, in pairs of rows: some milliseconds for each of them and
// thread, or a step of one that is larger.
constexpr Index kPairsAtOnce = 2'000'000;

// Some rows and columns of a formed kernel.
class KernelOfRows final : public KernelOperator {
 public:
  // Both must outlive it.
  KernelOfRows(const Matrix& gram, const MachineRows& rows) : gram_(gram), rows_(rows) {}

  Index size() const override { return static_cast<Index>(rows_.size()); }

  absl::Status Apply(ConstMatrixRef x, MatrixRef out, RunContext& context) const override {
    return DenseKernelOperator(std::make_shared<const Matrix>(gram_(rows_, rows_)))
        .Apply(x, out, context);
  }

  absl::Status Diagonal(VectorRef out, RunContext& context) const override {
    for (size_t i = 0; i < rows_.size(); ++i) {
      out(static_cast<Index>(i)) = gram_(rows_[i], rows_[i]);
    }
    return context.CheckCancelled();
  }

  absl::Status Columns(absl::Span<const Index> columns, MatrixRef out,
                       RunContext& context) const override {
    for (size_t j = 0; j < columns.size(); ++j) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      out.col(static_cast<Index>(j)) = gram_.col(rows_[static_cast<size_t>(columns[j])])(rows_);
    }
    return absl::OkStatus();
  }

  absl::Status Block(absl::Span<const Index> rows, absl::Span<const Index> columns, MatrixRef out,
                     RunContext& context) const override {
    std::vector<Index> of_gram;
    for (const Index row : rows) {
      of_gram.push_back(rows_[static_cast<size_t>(row)]);
    }
    for (size_t j = 0; j < columns.size(); ++j) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      out.col(static_cast<Index>(j)) = gram_.col(rows_[static_cast<size_t>(columns[j])])(of_gram);
    }
    return absl::OkStatus();
  }

 private:
  const Matrix& gram_;
  const MachineRows& rows_;
};

SvmProblem Part(const SvmProblem& problem, const SampleRange& range) {
  return {problem.loss, problem.targets.segment(range.first, range.size),
          problem.costs.segment(range.first, range.size)};
}

}  // namespace

Machines::Machines(InnerSolverChoice choice, const SvmProblem& problem,
                   std::vector<MachineRows> rows)
    : rows_(std::move(rows)) {
  Index first = 0;
  for (const MachineRows& of_machine : rows_) {
    ranges_.push_back({first, static_cast<Index>(of_machine.size())});
    first += ranges_.back().size;
  }
  if (rows_.empty()) {
    ranges_.push_back({0, problem.targets.size()});
  }
  inner_.reserve(ranges_.size());
  for (const SampleRange& range : ranges_) {
    problems_.push_back(Part(problem, range));
    inner_.emplace_back(choice, problems_.back());
  }
}

void Machines::SetKernel(const KernelOperator* kernel) {
  own_kernels_.clear();
  own_kernels_.resize(inner_.size());
  kernels_.assign(inner_.size(), kernel);
  for (size_t m = 0; m < rows_.size() && kernel != nullptr; ++m) {
    if (static_cast<Index>(rows_[m].size()) != kernel->size()) {
      own_kernels_[m] = std::make_unique<KernelOfRows>(*kernel->Dense(), rows_[m]);
      kernels_[m] = own_kernels_[m].get();
    }
  }
}

absl::Status Machines::Start(const KernelOperator& kernel, const Vector& dual, double relative_gap,
                             RunContext& context) {
  SetKernel(&kernel);
  MERCER_RETURN_IF_ERROR(
      SideBySide(static_cast<Index>(inner_.size()), context, [&](Index i, RunContext& own) {
        const auto m = static_cast<size_t>(i);
        return inner_[m].Start(*kernels_[m], dual.segment(ranges_[m].first, ranges_[m].size),
                               relative_gap, own);
      }));
  GatherDual();
  return absl::OkStatus();
}

absl::Status Machines::Step(RunContext& context) {
  std::vector<size_t> next;
  Index pairs = 0;
  for (size_t m = 0; m < inner_.size() && pairs < kPairsAtOnce; ++m) {
    if (!inner_[m].done()) {
      next.push_back(m);
      pairs += ranges_[m].size * ranges_[m].size;
    }
  }
  const absl::Status stepped = SideBySide(
      static_cast<Index>(next.size()), context,
      [&](Index i, RunContext& own) { return inner_[next[static_cast<size_t>(i)]].Step(own); });
  // Also of steps that were cut short: the biases of a point so far are those of its duals.
  GatherDual();
  return stepped;
}

void Machines::GatherDual() {
  if (is_single()) {
    return;
  }
  dual_.resize(ranges_.back().first + ranges_.back().size);
  for (size_t m = 0; m < inner_.size(); ++m) {
    dual_.segment(ranges_[m].first, ranges_[m].size) = inner_[m].dual();
  }
}

bool Machines::done() const {
  return std::all_of(inner_.begin(), inner_.end(), [](const auto& one) { return one.done(); });
}

bool Machines::stuck() const {
  return std::any_of(inner_.begin(), inner_.end(), [](const auto& one) { return one.stuck(); });
}

bool Machines::has_point() const {
  return std::all_of(inner_.begin(), inner_.end(), [](const auto& one) { return one.has_point(); });
}

const Vector& Machines::dual() const { return is_single() ? inner_[0].dual() : dual_; }

int64_t Machines::iterations() const {
  int64_t iterations = 0;
  for (const InnerSolver& one : inner_) {
    iterations += one.iterations();
  }
  return iterations;
}

double Machines::upper() const {
  double sum = 0;
  for (const InnerSolver& one : inner_) {
    sum += one.certificate().primal;
  }
  return sum;
}

double Machines::lower() const {
  double sum = 0;
  for (const InnerSolver& one : inner_) {
    sum += one.certificate().dual;
  }
  return sum;
}

// A dual of one machine at all rows, 0 at those that it does not see.
Vector Machines::OfRows(size_t machine, ConstVectorRef own, Index num_rows) const {
  if (rows_.empty()) {
    return own;
  }
  Vector all = Vector::Zero(num_rows);
  all(rows_[machine]) = own;
  return all;
}

absl::Status Machines::Energies(const KernelFamily& family, const Vector& dual,
                                const std::vector<Index>& kernels, MatrixRef energies,
                                RunContext& context) const {
  return SideBySide(static_cast<Index>(inner_.size()), context, [&](Index i, RunContext& own) {
    const auto m = static_cast<size_t>(i);
    const Vector all = OfRows(m, dual.segment(ranges_[m].first, ranges_[m].size), family.size());
    return family.QuadraticFormsForSearch(all, kernels, energies.middleCols(i, 1), own);
  });
}

MachineFunctions Machines::Functions(const Matrix& energies) const {
  if (is_single()) {
    return {inner_[0].dual(), inner_[0].scores(), energies, inner_[0].certificate().primal_scale};
  }
  MachineFunctions functions{dual_, Vector(dual_.size()), energies};
  for (size_t m = 0; m < inner_.size(); ++m) {
    const double scale = inner_[m].certificate().primal_scale;
    functions.dual.segment(ranges_[m].first, ranges_[m].size) *= scale;
    functions.scores.segment(ranges_[m].first, ranges_[m].size) = scale * inner_[m].scores();
    functions.energies.col(static_cast<Index>(m)) *= scale * scale;
  }
  return functions;
}

void Machines::Repair(Vector& dual) const {
  for (size_t m = 0; m < inner_.size(); ++m) {
    problems_[m].loss->RepairDual(problems_[m].targets, problems_[m].costs, true,
                                  dual.segment(ranges_[m].first, ranges_[m].size));
  }
}

absl::StatusOr<Vector> Machines::BiasesSoFar(RunContext& context) const {
  Vector biases(static_cast<Index>(inner_.size()));
  const auto find_bias = [&](Index i, RunContext& own) -> absl::Status {
    const auto m = static_cast<size_t>(i);
    const SvmProblem& problem = problems_[m];
    Matrix scores(problem.targets.size(), 1);
    MERCER_RETURN_IF_ERROR(kernels_[m]->Apply(inner_[m].dual(), scores, own));
    MERCER_ASSIGN_OR_RETURN(
        const BiasInterval bias,
        problem.loss->ExactBias(problem.targets, problem.costs, scores.col(0), own));
    biases(i) = bias.chosen;
    return absl::OkStatus();
  };
  MERCER_RETURN_IF_ERROR(SideBySide(biases.size(), context, find_bias));
  return biases;
}

absl::StatusOr<std::optional<Matrix>> Machines::HessianOf(size_t machine,
                                                          const KernelFamily& family,
                                                          const std::vector<Index>& kernels,
                                                          RunContext& context) const {
  const SvmProblem& problem = problems_[machine];
  const InnerSolver& inner = inner_[machine];
  const LossView view{*problem.loss, problem.targets, problem.costs};
  const CurvedSamples curved =
      problem.loss->is_piecewise_linear()
          ? FreeSamples(view, inner.dual())
          : SamplesWithCurvature(view, inner.scores(), inner.certificate().bias.chosen);
  if (curved.rows.size() < 2) {
    return std::optional<Matrix>();
  }
  std::vector<Index> rows = curved.rows;
  for (Index& row : rows) {
    row = rows_.empty() ? row : rows_[machine][static_cast<size_t>(row)];
  }
  const Vector all = OfRows(machine, inner.dual(), family.size());
  Matrix products(static_cast<Index>(rows.size()), static_cast<Index>(kernels.size()));
  MERCER_RETURN_IF_ERROR(family.Products(all, kernels, rows, products, context));
  return WeightHessian(*kernels_[machine], curved, products, context);
}

// A machine without a model of its own, as one all of whose samples are at a bound, has an optimum
// that is linear in the weights nearby.
absl::StatusOr<std::optional<Matrix>> Machines::Hessian(const KernelFamily& family,
                                                        const std::vector<Index>& kernels,
                                                        RunContext& context) const {
  std::optional<Matrix> sum;
  for (size_t first = 0; first < inner_.size(); first += kHessiansAtOnce) {
    std::vector<std::optional<Matrix>> parts(std::min(kHessiansAtOnce, inner_.size() - first));
    const auto find_part = [&](Index i, RunContext& own) -> absl::Status {
      const auto m = static_cast<size_t>(i);
      MERCER_ASSIGN_OR_RETURN(parts[m], HessianOf(first + m, family, kernels, own));
      return absl::OkStatus();
    };
    MERCER_RETURN_IF_ERROR(SideBySide(static_cast<Index>(parts.size()), context, find_part));
    for (const std::optional<Matrix>& part : parts) {
      if (part.has_value()) {
        sum = sum.has_value() ? Matrix(*sum + *part) : *part;
      }
    }
  }
  return sum;
}

void Machines::Save(ByteWriter& writer) const {
  for (const InnerSolver& one : inner_) {
    one.Save(writer);
  }
}

absl::Status Machines::Load(ByteReader& reader, const KernelOperator* kernel, RunContext& context) {
  SetKernel(kernel);
  for (size_t m = 0; m < inner_.size(); ++m) {
    MERCER_RETURN_IF_ERROR(inner_[m].Load(reader, kernels_[m], context));
  }
  if (has_point()) {
    GatherDual();
  }
  return absl::OkStatus();
}

}  // namespace mercer
