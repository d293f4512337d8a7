// A table of a model that is drawn as a heat map, as a picture.
#pragma once

#include "absl/status/statusor.h"

#include "core/io/images/gray_image.h"
#include "mercer/v1/model_version.pb.h"

namespace mercer::client {

// The first such table, a square for each entry: grey is 0, white the largest magnitude, black the same below 0. Errors:
// kFailedPrecondition when the model has none.
absl::StatusOr<GrayImage> DrawHeatMap(const v1::ModelVersion& model);

}  // namespace mercer::client
