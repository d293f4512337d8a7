#include "core/solvers/svm/curved_samples.h"

#include <cmath>

namespace mercer {

CurvedSamples FreeSamples(const LossView& view, const Vector& dual) {
  CurvedSamples samples;
  for (Index i = 0; i < dual.size(); ++i) {
    const Interval box = view.loss.DualBox(view.targets(i), view.costs(i));
    const double margin = 1e-9 * (box.high - box.low);
    const bool at_kink = std::abs(dual(i)) <= margin;  // for the hinge loss 0 is an end of the box
    if (dual(i) > box.low + margin && dual(i) < box.high - margin && !at_kink) {
      samples.rows.push_back(i);
    }
  }
  return samples;
}

CurvedSamples SamplesWithCurvature(const LossView& view, const Vector& scores, double bias) {
  const Vector shifted = scores.array() + bias;
  Vector curvatures(scores.size());
  view.loss.Curvatures(view.targets, view.costs, shifted, curvatures);
  CurvedSamples samples;
  for (Index i = 0; i < curvatures.size(); ++i) {
    if (curvatures(i) > 0) {
      samples.rows.push_back(i);
    }
  }
  samples.curvature = curvatures(samples.rows);
  return samples;
}

}  // namespace mercer
