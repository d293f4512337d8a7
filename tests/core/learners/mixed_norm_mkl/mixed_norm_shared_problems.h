// Problems of three classes whose machines share one combination of kernels.
#pragma once

#include <vector>

#include "core/base/numeric/random.h"
#include "tests/core/learners/mixed_norm_mkl/mixed_norm_problems.h"

namespace mercer::mixed_norm_mkl {

inline constexpr double kSharedGap = 1e-6;
inline constexpr double kSharedCost = 50;

inline OptionValues Shared(OptionValues more = {}) {
  more["C"] = kSharedCost;
  more["shared_weights"] = true;
  return more;
}

// Three overlapping classes of 45 rows, by the sectors of the first two columns.
struct ThreeClasses {
  RandomKernels kernels = MakeRandomKernels(45, 2, {0.5, 2, 8}, 11);
  std::vector<int> labels;

  ThreeClasses() {
    RandomStream random(3, "classes");
    for (Index i = 0; i < 45; ++i) {
      // A class that kernels know something of: the targets of two classes, some of them another.
      labels.push_back(random.Uniform() < 0.33 ? 2 : (kernels.targets(i) > 0 ? 1 : 0));
    }
  }

  TrainingProblem Problem(bool pairs, std::vector<int> order = {0, 1, 2}) const {
    TrainingProblem problem = GroupedProblem(kernels.grams, kernels.groups, kernels.targets);
    Matrix targets(45, 3);
    for (Index i = 0; i < 45; ++i) {
      const int label = order[static_cast<size_t>(labels[static_cast<size_t>(i)])];
      for (int o = 0; o < 3; ++o) {
        // Pairs (0, 1), (0, 2), (1, 2).
        const int first = o == 2 ? 1 : 0;
        const int second = o == 0 ? 1 : 2;
        targets(i, o) = pairs ? (label == first    ? 1
                                 : label == second ? -1
                                                   : 0)
                              : (label == o ? 1 : -1);
      }
    }
    problem.tasks[0].targets = std::move(targets);
    return problem;
  }
};

}  // namespace mercer::mixed_norm_mkl
