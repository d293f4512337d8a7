// The encoding of a model's function, in model files and in checkpoints.
#pragma once

#include "core/base/encoding/bytes.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/training/model/model.h"
#include "core/training/model/trained_point.h"

namespace mercer {

// Writes a function without its feature terms, which versions of the model file before 2 do not
// have.
void WriteFunction(const ModelFunction& function, ByteWriter& writer);
// Reads it. Only the encoding is checked; CheckModel checks what it says.
ModelFunction ReadFunction(ByteReader& reader);

// Writes a summary without what it says of features.
void WriteSummary(const ModelSummary& summary, ByteWriter& writer);
ModelSummary ReadSummary(ByteReader& reader);

// The feature terms of a function, and what the summary says of its features.
void WriteFeatures(const ModelFunction& function, const ModelSummary& summary, ByteWriter& writer);
void ReadFeatures(ByteReader& reader, ModelFunction& function, ModelSummary& summary);

// A trained point as a checkpoint stores it: of basis rows that are training rows the numbers
// alone, which must be rows of `inputs`.
void WritePoint(const TrainedPoint& point, ByteWriter& writer);
TrainedPoint ReadPoint(const PreparedData& inputs, ByteReader& reader);

}  // namespace mercer
