#include "server/jobs/data/training_data.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/data/table/joined_tasks.h"

namespace mercer::server {

namespace {

std::vector<NamedTask> TasksOf(const std::vector<NamedContent>& contents) {
  std::vector<NamedTask> tasks;
  for (const NamedContent& content : contents) {
    tasks.push_back({content.name, content.rows.get()});
  }
  return tasks;
}

}  // namespace

absl::StatusOr<OpenedData> OpenVerifiedData(DatasetCache& datasets,
                                            const std::vector<std::string>& ids,
                                            const CancellationToken& cancellation) {
  OpenedData data;
  for (const std::string& id : ids) {
    MERCER_ASSIGN_OR_RETURN(OpenedDataset opened, datasets.OpenVerified(id, cancellation));
    data.contents.push_back({id, opened.record.blob, std::move(opened.dataset)});
    data.records.push_back(std::move(opened.record));
  }
  return data;
}

absl::StatusOr<std::shared_ptr<const Dataset>> ShapeOfContents(
    const std::vector<NamedContent>& contents) {
  if (contents.size() == 1) {
    return contents[0].rows;
  }
  MERCER_ASSIGN_OR_RETURN(Dataset shape, ShapeOfJoinedTasks(TasksOf(contents), kMaxJoinedBytes));
  return std::make_shared<const Dataset>(std::move(shape));
}

absl::StatusOr<TrainingData> JoinContents(const std::vector<NamedContent>& contents,
                                          const RunContext& context) {
  TrainingData data;
  if (contents.size() == 1) {
    data.rows = contents[0].rows;
    data.digest = contents[0].blob;
    return data;
  }
  for (const NamedContent& content : contents) {
    absl::StrAppend(&data.digest, content.name, "=", content.blob, ";");
  }
  MERCER_ASSIGN_OR_RETURN(Dataset joined, JoinTasks(TasksOf(contents), kMaxJoinedBytes, context));
  data.rows = std::make_shared<const Dataset>(std::move(joined));
  return data;
}

}  // namespace mercer::server
