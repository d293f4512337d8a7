// The quality of a data set, from the core to the API.
#pragma once

#include <functional>

#include "absl/status/statusor.h"

#include "core/data/table/dataset.h"
#include "core/io/quality/quality.h"
#include "core/io/quality/quality_scan.h"
#include "mercer/v1/dataset.pb.h"

namespace mercer::server {

// What is kept of a data set beside its rows: schema, statistics and quality. `scan` is of `dataset`. Errors: kCancelled.
absl::StatusOr<v1::Dataset> DescribeWithQuality(const Dataset& dataset, quality::Scan& scan,
                                                const std::function<bool()>& is_cancelled);

}  // namespace mercer::server
