#include "server/jobs/training_data.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/data/joined_tasks.h"

namespace mercer::server {

absl::StatusOr<TrainingData> OpenTrainingData(DatasetCache& datasets,
                                              const std::vector<std::string>& ids,
                                              const RunContext& context) {
  std::vector<DatasetRecord> records;
  std::vector<NamedContent> contents;
  for (const std::string& id : ids) {
    MERCER_ASSIGN_OR_RETURN(OpenedDataset opened, datasets.Open(id));
    contents.push_back({id, opened.record.blob, std::move(opened.dataset)});
    records.push_back(std::move(opened.record));
  }
  MERCER_ASSIGN_OR_RETURN(TrainingData data, JoinContents(contents, context));
  data.records = std::move(records);
  return data;
}

absl::StatusOr<TrainingData> JoinContents(const std::vector<NamedContent>& contents,
                                          const RunContext& context) {
  TrainingData data;
  if (contents.size() == 1) {
    data.rows = contents[0].rows;
    data.digest = contents[0].blob;
    return data;
  }
  std::vector<NamedTask> tasks;
  for (const NamedContent& content : contents) {
    tasks.push_back({content.name, content.rows.get()});
    absl::StrAppend(&data.digest, content.name, "=", content.blob, ";");
  }
  MERCER_ASSIGN_OR_RETURN(Dataset joined, JoinTasks(tasks, kMaxJoinedBytes, context));
  data.rows = std::make_shared<const Dataset>(std::move(joined));
  return data;
}

}  // namespace mercer::server
