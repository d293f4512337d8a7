// Data sets on a connection: the changes and answers of DatasetStore.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "server/storage/dataset_store.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

absl::StatusOr<DatasetRecord> InsertDataset(Connection& connection, const DatasetRecord& dataset,
                                            int64_t max_stored_bytes);
absl::StatusOr<DatasetRecord> ChangeDataset(Connection& connection, const DatasetUpdate& update);
absl::StatusOr<DatasetRecord> RemoveDataset(Connection& connection, const std::string& id,
                                            const OwnerCheck& check);
absl::StatusOr<DatasetRecord> MarkHidden(Connection& connection, const std::string& id,
                                         const OwnerCheck& check);
absl::StatusOr<DatasetRecord> RemoveHiddenDataset(Connection& connection, const std::string& id);
absl::StatusOr<std::vector<std::string>> FindUnusedHiddenDatasets(Connection& connection);
absl::StatusOr<DatasetRecord> ReadDataset(Connection& connection, const std::string& id);
absl::StatusOr<std::optional<DatasetRecord>> FindDatasetByKey(Connection& connection,
                                                              const std::string& key);
absl::StatusOr<Page<DatasetRecord>> ReadDatasetPage(Connection& connection, const PageRequest& page,
                                                    const ListQuery& query);
absl::StatusOr<int64_t> CountStoredBytes(Connection& connection, const BlobDigest& except);

}  // namespace mercer::server
