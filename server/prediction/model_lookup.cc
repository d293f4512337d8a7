#include "server/prediction/model_lookup.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {

absl::StatusOr<int64_t> ResolveAlias(ModelStore& models, const ModelReference& reference) {
  const absl::StatusOr<AliasRecord> alias = models.GetAlias(reference.model, reference.alias);
  if (absl::IsNotFound(alias.status())) {
    return ResourceNotFound("model alias", ModelAliasName(reference.model, reference.alias));
  }
  MERCER_RETURN_IF_ERROR(alias.status());
  return alias->version;
}

absl::StatusOr<std::shared_ptr<const LoadedModel>> LoadNamed(ModelCache& cache, ModelStore& models,
                                                             std::string_view name,
                                                             std::string_view field) {
  MERCER_ASSIGN_OR_RETURN(const ModelReference reference, ParseModelName(name, field));
  return ReadNamed(models, reference, [&](const std::string& model, int64_t version) {
    return cache.Load(model, version);
  });
}

absl::StatusOr<VersionRecord> FindNamed(ModelStore& models, std::string_view name,
                                        std::string_view field) {
  MERCER_ASSIGN_OR_RETURN(const ModelReference reference, ParseModelName(name, field));
  absl::StatusOr<VersionRecord> record = ReadNamed(
      models, reference,
      [&](const std::string& model, int64_t version) { return models.GetVersion(model, version); });
  if (!record.ok() && GetReason(record.status()) == "MODEL_NOT_FOUND") {
    return ResourceNotFound("model", name);
  }
  return record;
}

absl::StatusOr<std::shared_ptr<const Dataset>> OpenNamedDataset(
    JobManager& jobs, const std::string& name, const CancellationToken& cancellation) {
  MERCER_ASSIGN_OR_RETURN(const std::string id, ParseDatasetName(name, "dataset"));
  absl::StatusOr<std::shared_ptr<const Dataset>> dataset = jobs.OpenDataset(id, cancellation);
  return absl::IsNotFound(dataset.status()) ? ResourceNotFound("data set", name)
                                            : std::move(dataset);
}

absl::StatusOr<std::shared_ptr<const Dataset>> OpenNamedShape(JobManager& jobs,
                                                              const std::string& name) {
  MERCER_ASSIGN_OR_RETURN(const std::string id, ParseDatasetName(name, "dataset"));
  absl::StatusOr<std::shared_ptr<const Dataset>> shape = jobs.OpenShape(id);
  return absl::IsNotFound(shape.status()) ? ResourceNotFound("data set", name) : std::move(shape);
}

absl::Status RefuseProbabilities(bool asked, const std::string& model) {
  if (!asked) {
    return absl::OkStatus();
  }
  return WithReason(
      absl::FailedPreconditionError("the model is not calibrated, so it has no probabilities"),
      "NOT_CALIBRATED", {{"resource_type", "model"}, {"resource_name", model}});
}

absl::Status AboutModel(const absl::Status& status, std::string_view name) {
  const std::string reason = absl::IsNotFound(status) ? GetReason(status) : "";
  return reason == "NOT_FOUND"
             ? status
             : AboutResource(status, reason == "ALIAS_NOT_FOUND" ? "model alias" : "model", name);
}

}  // namespace mercer::server
