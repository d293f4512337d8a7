// The Gabor filters that a model has chosen, as one picture.
#pragma once

#include "absl/status/statusor.h"

#include "core/io/images/gray_image.h"
#include "mercer/v1/model_version.pb.h"

namespace mercer::client {

// One square for each filter, row by row, that with the largest weights first, as the list of features has them; within a square grey is 0, white 1, black -1, and its
// side is that of a patch. Errors: kFailedPrecondition when the model has no such filters.
absl::StatusOr<GrayImage> DrawFilters(const v1::ModelVersion& model);

}  // namespace mercer::client
