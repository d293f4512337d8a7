// The quality of a data set, from the core to the API.
#pragma once

#include "core/data/table/dataset.h"
#include "core/io/quality/quality.h"
#include "mercer/v1/dataset.pb.h"

namespace mercer::server {

// `quality` is that of `dataset`.
void WriteQuality(const Dataset& dataset, const DataQuality& quality, v1::DataQuality& message);

}  // namespace mercer::server
