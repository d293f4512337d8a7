#include "tests/support/proof/pairs.h"

#include <algorithm>
#include <tuple>

#include "core/kernels/spec/kernel_labels.h"

namespace mercer::pair_ridge {

AllRows::AllRows(const TrainingProblem& problem)
    : places(problem.tasks.size()), targets(problem.num_rows()), costs(problem.num_rows()) {
  std::vector<std::tuple<Index, size_t, Index>> order;  // row, its task, its place there
  for (size_t t = 0; t < problem.tasks.size(); ++t) {
    for (size_t i = 0; i < problem.tasks[t].rows.size(); ++i) {
      order.emplace_back(problem.tasks[t].rows[i], t, static_cast<Index>(i));
    }
  }
  std::sort(order.begin(), order.end());
  for (const auto& [row, t, i] : order) {
    const auto place = static_cast<Index>(rows.size());
    rows.push_back(row);
    task.push_back(static_cast<Index>(t));
    places[t].push_back(place);
    targets(place) = problem.tasks[t].targets(i, 0);
    costs(place) = problem.tasks[t].costs(i);
  }
}

std::vector<Pair> MakePairs(const AllRows& all) {
  std::vector<Pair> pairs;
  for (const std::vector<Index>& places : all.places) {
    Index last = -1;
    for (const Index place : places) {
      if (all.costs(place) > 0) {
        if (last >= 0) {
          pairs.push_back({last, place});
        }
        last = place;
      }
    }
  }
  return pairs;
}

Vector DualOfPairs(const std::vector<Pair>& pairs, ConstVectorRef coefficients, Index num_rows) {
  Vector dual = Vector::Zero(num_rows);
  for (size_t p = 0; p < pairs.size(); ++p) {
    dual(pairs[p].first) += coefficients(static_cast<Index>(p));
    dual(pairs[p].second) -= coefficients(static_cast<Index>(p));
  }
  return dual;
}

Vector PairsOfDual(const std::vector<Pair>& pairs, ConstVectorRef dual) {
  Vector coefficients(static_cast<Index>(pairs.size()));
  for (size_t p = 0; p < pairs.size(); ++p) {
    const auto place = static_cast<Index>(p);
    const bool goes_on = p > 0 && pairs[p - 1].second == pairs[p].first;
    coefficients(place) = dual(pairs[p].first) + (goes_on ? coefficients(place - 1) : 0.0);
  }
  return coefficients;
}

Vector KernelWeights(const std::vector<KernelSpec>& kernels) {
  const KernelGroups groups = GroupsOf(kernels);
  Vector sizes = Vector::Zero(groups.num_groups());
  for (const Index g : groups.group_of) {
    sizes(g) += 1;
  }
  const auto count = static_cast<Index>(kernels.size());
  Vector weights(count);
  for (Index k = 0; k < count; ++k) {
    weights(k) = static_cast<double>(count) / (static_cast<double>(sizes.size()) *
                                               sizes(groups.group_of[static_cast<size_t>(k)]));
  }
  return weights;
}

double PlaneWeight(const std::vector<KernelSpec>& kernels, Index num_inputs) {
  return static_cast<double>(kernels.size()) / static_cast<double>(std::max<Index>(num_inputs, 1));
}

}  // namespace mercer::pair_ridge
