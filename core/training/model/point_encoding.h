// A trained point as checkpoints store it.
#pragma once

#include "core/base/encoding/bytes.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/training/model/trained_point.h"

namespace mercer {

// Of basis rows that are training rows the numbers alone are written, which must be rows of
// `inputs`.
void WritePoint(const TrainedPoint& point, ByteWriter& writer);
// Reads it. What does not fit together, as far as MergeOutputs and MergeTables rely on it, marks
// the input as damaged.
TrainedPoint ReadPoint(const PreparedData& inputs, ByteReader& reader);

}  // namespace mercer
