// Loops over samples whose loss is known when they are compiled, so that no call per sample is
// left.
#pragma once

#include "core/base/numeric/types.h"

namespace mercer {

// `loss` is of a final class, whose Value, Slope and Curvature are defined where this is used.
template <typename KnownLoss>
double LoopOfValueAndSlopes(const KnownLoss& loss, const ConstVectorRef& targets,
                            const ConstVectorRef& costs, const ConstVectorRef& scores,
                            VectorRef slopes) {
  double sum = 0;
  for (Index i = 0; i < targets.size(); ++i) {
    sum += loss.Value(targets(i), costs(i), scores(i));
    slopes(i) = loss.Slope(targets(i), costs(i), scores(i));
  }
  return sum;
}

template <typename KnownLoss>
void LoopOfCurvatures(const KnownLoss& loss, const ConstVectorRef& targets,
                      const ConstVectorRef& costs, const ConstVectorRef& scores,
                      VectorRef curvatures) {
  for (Index i = 0; i < targets.size(); ++i) {
    curvatures(i) = loss.Curvature(targets(i), costs(i), scores(i));
  }
}

}  // namespace mercer
