// The solutions of several outputs, each learned alone, as one.
#pragma once

#include <vector>

#include "core/data/preprocess/prepared_data.h"
#include "core/training/model/trained_point.h"

namespace mercer {

// Output o of the result is that of points[o], each of which has one. Their witnesses become its
// children, and the first limit that one of them has reached is its own. `inputs` is the table that
// their bases are rows of.
TrainedPoint MergePoints(std::vector<TrainedPoint> points, const PreparedData& inputs);

}  // namespace mercer
