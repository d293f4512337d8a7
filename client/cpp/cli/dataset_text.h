// A data set as text.
#pragma once

#include <string>

#include "client/cpp/cli/terminal.h"
#include "mercer/v1/dataset.pb.h"

namespace mercer::client {

// Size, blocks, squares, targets with their classes.
std::string FormatDatasetSummary(const v1::Dataset& dataset);
// A table of all columns with their statistics.
std::string FormatDatasetColumns(const v1::Dataset& dataset, const Terminal& terminal);

// What may be wrong with the data.
std::string FormatDatasetQuality(const v1::Dataset& dataset);

}  // namespace mercer::client
