// From the name of a model in a request to the version that it means.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/jobs/job_manager.h"
#include "server/prediction/model_cache.h"
#include "server/storage/model_store.h"
#include "server/translation/resource_names.h"

namespace mercer::server {

// The version that the alias of `reference` points to. Errors: kNotFound, about the alias.
absl::StatusOr<int64_t> ResolveAlias(ModelStore& models, const ModelReference& reference);

// `read(model, version)`, an absl::StatusOr, with the alias resolved. A version may be deleted as soon
// as its alias has moved on, so one that is gone is looked for where the alias points to by now.
template <typename Read>
auto ReadNamed(ModelStore& models, const ModelReference& reference, const Read& read)
    -> decltype(read(reference.model, int64_t{0})) {
  if (reference.alias.empty()) {
    return read(reference.model, reference.version);
  }
  int64_t gone = 0;
  while (true) {
    const absl::StatusOr<int64_t> version = ResolveAlias(models, reference);
    if (!version.ok()) {
      return version.status();
    }
    auto result = read(reference.model, *version);
    if (!absl::IsNotFound(result.status()) || *version == gone) {
      return result;
    }
    gone = *version;
  }
}

// Errors: kInvalidArgument naming `field`, kNotFound, those of ModelCache::Load.
absl::StatusOr<std::shared_ptr<const LoadedModel>> LoadNamed(ModelCache& cache, ModelStore& models,
                                                             std::string_view name,
                                                             std::string_view field);
absl::StatusOr<VersionRecord> FindNamed(ModelStore& models, std::string_view name,
                                        std::string_view field);

// The data set `name`, whose form is right, with its values verified. Errors: kNotFound about the name; those of
// JobManager::OpenDataset.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenNamedDataset(
    JobManager& jobs, const std::string& name, const CancellationToken& cancellation);
// The same to look at its shape. Errors besides: those of JobManager::OpenShape.
absl::StatusOr<std::shared_ptr<const Dataset>> OpenNamedShape(JobManager& jobs,
                                                              const std::string& name);

// Errors: kFailedPrecondition (reason NOT_CALIBRATED), when they are asked for.
absl::Status RefuseProbabilities(bool asked, const std::string& model);

// A store's error about a model, version or alias, said as that of the resource `name`.
absl::Status AboutModel(const absl::Status& status, std::string_view name);
template <typename Answer>
absl::StatusOr<Answer> AboutModel(absl::StatusOr<Answer> answer, std::string_view name) {
  return answer.ok() ? std::move(answer) : AboutModel(answer.status(), name);
}

}  // namespace mercer::server
