// The rows of a job: those of its data set, or of several, which are the tasks of one problem.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/data/table/dataset.h"
#include "server/jobs/data/dataset_cache.h"
#include "server/storage/records.h"

namespace mercer::server {

struct TrainingData {
  std::vector<DatasetRecord>
      records;  // in the order of the plan; empty when they were opened by content
  std::shared_ptr<const Dataset> rows;
  std::string digest;  // equal ones mean equal rows
};

// Data sets that are joined in memory take no more.
inline constexpr size_t kMaxJoinedBytes = size_t{1} << 30;

// A data set with the name that it has as a task.
struct NamedContent {
  std::string name;
  BlobDigest blob;
  std::shared_ptr<const Dataset> rows;
};

// The data sets of a plan, opened.
struct OpenedData {
  std::vector<DatasetRecord> records;
  std::vector<NamedContent> contents;
};
// To use their values. Errors: those of DatasetCache::OpenVerified.
absl::StatusOr<OpenedData> OpenVerifiedData(DatasetCache& datasets,
                                            const std::vector<std::string>& ids,
                                            const CancellationToken& cancellation);

// At least one data set; the records are left out. Errors: those of JoinTasks.
absl::StatusOr<TrainingData> JoinContents(const std::vector<NamedContent>& contents,
                                          const RunContext& context);
// The same for estimates: a table that is joined has its shape, but no values of dense blocks.
absl::StatusOr<std::shared_ptr<const Dataset>> ShapeOfContents(
    const std::vector<NamedContent>& contents);

}  // namespace mercer::server
