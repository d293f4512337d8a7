// A data set and its preprocessing, fitted on rows of it and applied to all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/data/preprocess/preprocessing.h"
#include "core/data/table/dataset.h"

namespace mercer {

struct DataToFit {
  const Dataset* dataset = nullptr;
  std::string digest;                        // names its content for caches; may be empty
  const std::vector<Index>* rows = nullptr;  // that train
  const PreprocessingOptions* options = nullptr;
  std::vector<std::string> kernel_blocks;  // the precomputed kernels in use, see FitRepairs
};

struct FittedData {
  Preprocessing preprocessing;
  PreparedData prepared;  // without tasks
};

// Where all rows of a data set train that has a digest, a small result is kept in the cache of the context: trainings on the same
// data find it there. Errors: those of Preprocessing::Fit, FitRepairs and ApplyToFitted.
absl::StatusOr<std::shared_ptr<const FittedData>> FitData(const DataToFit& data,
                                                          RunContext& context);

}  // namespace mercer
