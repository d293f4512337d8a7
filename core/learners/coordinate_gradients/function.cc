#include "core/learners/coordinate_gradients/function.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status/status_macros.h"
#include "core/solvers/gradients/gradient_results.h"
#include "core/training/contract/input_columns.h"
#include "core/training/terms/gradient_term.h"

namespace mercer::coordinate_gradients {
namespace {

// The outputs from `first` on, as a term of their own.
KernelTerm OutputsOf(const KernelTerm& all, Index first, Index count) {
  KernelTerm part;
  part.basis = all.basis;
  part.kernels = all.kernels;
  part.weights = all.weights.middleCols(first, count);
  part.coefficients = all.coefficients.middleCols(first, count);
  part.coefficients.makeCompressed();
  for (Index o = 0; o < count; ++o) {
    part.outputs.push_back(static_cast<int>(o));
  }
  return part;
}

}  // namespace

absl::StatusOr<ModelFunction> FunctionOf(const CoordinateGradientsOptions& options,
                                         const TrainingProblem& problem,
                                         const PreparedProblem& prepared, const GradientPoint& at,
                                         RunContext& context) {
  const TaskData& task = problem.tasks[0];
  const GradientProblem& gradients = prepared.problem;
  std::vector<Index> columns = ColumnsOf(at);
  const auto count = static_cast<Index>(columns.size());
  MERCER_ASSIGN_OR_RETURN(const Matrix coefficients, CoefficientsOf(prepared, at, context));
  ModelFunction function =
      MakeKernelFunctions(*task.inputs, task.rows, problem.kernels, prepared.family->scales(),
                          coefficients, Vector::Zero(1 + count));
  function.bias = Vector::Zero(1);
  if (function.terms.empty()) {
    return function;
  }
  const auto all = std::static_pointer_cast<const KernelTerm>(function.terms.front());
  function.terms = {std::make_shared<const KernelTerm>(OutputsOf(*all, 0, 1))};
  if (count == 0) {
    return function;
  }
  auto term = std::make_shared<GradientTerm>();
  term->outputs = {0};
  term->num_inputs = gradients.num_columns();
  term->functions = OutputsOf(*all, 1, count);
  for (KernelSpec& kernel : term->functions.kernels) {
    kernel.labels = {};
  }
  const std::vector<std::string> names = InputNames(problem);
  for (const Index column : columns) {
    term->names.push_back(names[static_cast<size_t>(column)]);
  }
  term->center = gradients.means(columns);
  if (options.directions > 0) {
    const GradientFunctions functions =
        MakeGradientFunctions(gradients, (at.Norms().array() > 0).select(at.weights, 0.0), at.dual);
    MERCER_ASSIGN_OR_RETURN(GradientDirections found,
                            LeadingDirections(gradients, functions, DirectionMeasure::kNorm,
                                              options.directions, context));
    if (found.directions.cols() > 0) {
      term->directions = std::move(found.directions);
    }
  }
  term->columns = std::move(columns);
  function.terms.push_back(std::move(term));
  return function;
}

}  // namespace mercer::coordinate_gradients
