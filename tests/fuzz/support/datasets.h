// Small helpers around data sets that several targets share.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/data/preprocess/preprocessing.h"
#include "core/data/table/dataset.h"
#include "core/io/text/readers.h"

namespace mercer::fuzz {

// The stored form: equal for equal data sets.
std::string EncodedDataset(const Dataset& dataset);

// Gives at most `piece_bytes` at a time.
std::unique_ptr<ByteSource> MakePieceSource(std::string text, size_t piece_bytes);

// `rows` rows with the columns that `preprocessing` was fitted on.
Dataset RowsFor(const Preprocessing& preprocessing, Index rows);

}  // namespace mercer::fuzz
