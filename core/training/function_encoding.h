// The encoding of a model's function, in model files and in checkpoints.
#pragma once

#include "core/base/bytes.h"
#include "core/data/prepared_data.h"
#include "core/training/learner.h"
#include "core/training/model.h"

namespace mercer {

void WriteFunction(const ModelFunction& function, ByteWriter& writer);
// Only the encoding is checked; CheckModel checks what it says.
ModelFunction ReadFunction(ByteReader& reader);

void WriteSummary(const ModelSummary& summary, ByteWriter& writer);
ModelSummary ReadSummary(ByteReader& reader);

// A trained point as a checkpoint stores it: of basis rows that are training rows the numbers alone,
// which must be rows of `inputs`.
void WritePoint(const TrainedPoint& point, ByteWriter& writer);
TrainedPoint ReadPoint(const PreparedData& inputs, ByteReader& reader);

}  // namespace mercer
