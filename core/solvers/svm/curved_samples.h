// Where the optimum of fixed kernel weights has a curvature: the samples whose dual variables move
// with the scores.
#pragma once

#include <vector>

#include "core/base/numeric/types.h"
#include "core/objectives/loss.h"

namespace mercer {

struct CurvedSamples {
  std::vector<Index> rows;  // ascending
  // D(i) > 0, the second derivative of the loss at each of them. Empty for a piecewise linear loss:
  // the dual moves so that the scores of its free samples stay at a kink.
  Vector curvature = {};
};

struct LossView {
  const Loss& loss;
  const Vector& targets;
  const Vector& costs;
};

// The free samples of a piecewise linear loss: those strictly inside the dual's box and off its
// kink at 0.
CurvedSamples FreeSamples(const LossView& view, const Vector& dual);
// The samples with a curvature for the other losses, at the function with these scores and this
// bias.
CurvedSamples SamplesWithCurvature(const LossView& view, const Vector& scores, double bias);

}  // namespace mercer
