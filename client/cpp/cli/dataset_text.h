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

}  // namespace mercer::client
