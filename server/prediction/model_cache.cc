#include "server/prediction/model_cache.h"

#include <utility>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "mercer/v1/model_version.pb.h"
#include "server/translation/resource_names.h"
#include "server/translation/whole_message.h"

namespace mercer::server {

absl::StatusOr<ModelCache::ModelPointer> ModelCache::ReadModel(const VersionRecord& record) {
  const absl::StatusOr<std::unique_ptr<MappedFile>> file = blobs_.Read(record.model_blob);
  if (!file.ok()) {
    return file.status();
  }
  MERCER_ASSIGN_OR_RETURN(Model model, LoadModel((*file)->contents()));
  auto loaded = std::make_shared<LoadedModel>();
  loaded->model = record.model;
  loaded->version = record.version;
  loaded->name = ModelVersionName(record.model, record.version);
  loaded->blob = record.model_blob;
  v1::ModelVersion summary;
  if (ParseWhole(record.summary, summary)) {
    loaded->ignored_columns.insert(summary.ignored_columns().begin(),
                                   summary.ignored_columns().end());
  }
  loaded->queue = std::make_unique<PredictionQueue>(threads_, RowsPerBatch(model));
  loaded->statistics = statistics_.Of(loaded->name);
  MERCER_ASSIGN_OR_RETURN(loaded->predictor,
                          Predictor::Make(std::make_shared<const Model>(std::move(model))));
  return loaded;
}

ModelCache::ModelPointer ModelCache::Find(const std::string& model, int64_t version) {
  ModelPointer loaded = loaded_.Find(ModelVersionName(model, version));
  hits_.fetch_add(loaded != nullptr ? 1 : 0, std::memory_order_relaxed);
  return loaded;
}

absl::StatusOr<ModelCache::ModelPointer> ModelCache::Load(const std::string& model,
                                                          int64_t version) {
  if (version != 0) {
    if (ModelPointer loaded = Find(model, version)) {
      return loaded;
    }
  }
  const absl::StatusOr<VersionRecord> record = models_.GetVersion(model, version);
  if (!record.ok()) {
    const std::string name = version == 0 ? ModelName(model) : ModelVersionName(model, version);
    return record.status().code() == absl::StatusCode::kNotFound ? ResourceNotFound("model", name)
                                                                 : record.status();
  }
  if (ModelPointer loaded = Find(model, record->version)) {
    return loaded;
  }
  misses_.fetch_add(1, std::memory_order_relaxed);
  return loads_.Run(ModelVersionName(model, record->version), "loading a model",
                    [&] { return ReadAndKeep(*record); });
}

absl::StatusOr<ModelCache::ModelPointer> ModelCache::ReadAndKeep(const VersionRecord& record) {
  const std::string name = ModelVersionName(record.model, record.version);
  if (ModelPointer known = loaded_.Find(name)) {
    return known;  // it was read just before
  }
  absl::StatusOr<ModelPointer> loaded = ReadModel(record);
  if (loaded.ok()) {
    const size_t bytes = (*loaded)->predictor->MemoryBytes();
    Free(loaded_.Put(name, *loaded, static_cast<int64_t>(bytes)));
  }
  // A deletion removes the row, then the version from here, then the file. One that came since
  // `record` was read may have done the second before there was anything to remove; the version would
  // then answer until it is evicted.
  if (models_.GetVersion(record.model, record.version).status().code() ==
      absl::StatusCode::kNotFound) {
    Remove(record.model, record.version);
    return ResourceNotFound("model", name);
  }
  return loaded.status().code() == absl::StatusCode::kNotFound ? BlobMissing(record.model_blob)
                                                               : loaded;
}

void ModelCache::Free(Entries removed) {
  int64_t bytes = 0;
  for (const auto& entry : removed) {
    bytes += entry.bytes;
  }
  removed.clear();
  freed_.Add(bytes);
}

ModelCache::Entries ModelCache::Unlink(const std::string& model, int64_t version) {
  statistics_.Remove(version == 0 ? ModelName(model) : ModelVersionName(model, version));
  return loaded_.TakeIf([&](const auto& entry) {
    return entry.value->model == model && (version == 0 || entry.value->version == version);
  });
}

ModelCacheUse ModelCache::use() const {
  return {static_cast<int64_t>(loaded_.size()), loaded_.bytes(), hits_, misses_};
}

}  // namespace mercer::server
