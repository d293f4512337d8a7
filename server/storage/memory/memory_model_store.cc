#include "server/storage/memory/memory_model_store.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/alias_moves.h"
#include "server/storage/refusals.h"

namespace mercer::server {
namespace {

ModelRecord RecordOf(const MemoryModel& model) {
  ModelRecord record = model.record;
  record.newest_version = model.versions.rbegin()->first;
  record.num_versions = static_cast<int64_t>(model.versions.size());
  return record;
}

VersionRecord WithAliases(const MemoryModel& model, VersionRecord version) {
  version.aliases = AliasesOf(model, version.version);
  version.owner = model.record.owner;
  return version;
}

bool Passes(const VersionRecord& version, const VersionFilter& filter) {
  return (filter.learner.empty() || version.learner == filter.learner) &&
         HoldsLabels(version.labels, filter.labels);
}

// The changes of an alias. Errors: ALIAS_NOT_FOUND when it has never existed.
absl::StatusOr<const std::vector<AliasChange>*> FindChanges(const MemoryModel& model,
                                                            const std::string& alias) {
  const auto found = model.alias_changes.find(alias);
  if (found == model.alias_changes.end()) {
    return AliasNotFound(model.record.name, alias);
  }
  return &found->second;
}

}  // namespace

MemoryModel* MemoryModelStore::Find(const std::string& name) const {
  const auto found = state_->models.find(name);
  return found == state_->models.end() || found->second.versions.empty() ? nullptr : &found->second;
}

void MemoryModelStore::DeleteModel(std::string name, int64_t version, absl::Time now,
                                   OwnerCheck check, Done<DeletedVersions> done) {
  done(Delete(name, version, now, check));
}

absl::StatusOr<DeletedVersions> MemoryModelStore::Delete(const std::string& name, int64_t version,
                                                         absl::Time now, const OwnerCheck& check) {
  absl::MutexLock lock(&state_->mutex);
  MemoryModel* const model = Find(name);
  if (model == nullptr) {
    return ModelNotFound(name, version);
  }
  MERCER_RETURN_IF_ERROR(CheckOwner(check, model->record.owner));
  const std::vector<std::string> aliases = AliasesOf(*model, version);
  if (!aliases.empty()) {
    return VersionHasAlias(name, version, aliases);
  }
  DeletedVersions deleted;
  std::set<BlobDigest> blobs;
  for (auto entry = model->versions.begin(); entry != model->versions.end();) {
    if (version == 0 || entry->first == version) {
      deleted.versions.push_back(entry->first);
      blobs.insert({entry->second.model_blob, entry->second.witness_blob});
      entry = model->versions.erase(entry);
    } else {
      ++entry;
    }
  }
  if (deleted.versions.empty()) {
    return ModelNotFound(name, version);
  }
  blobs.erase("");
  deleted.released_blobs.assign(blobs.begin(), blobs.end());
  model->record.update_time = now;
  if (model->versions.empty()) {
    model->record.keep_newest = 0;
  }
  return deleted;
}

absl::StatusOr<ModelRecord> MemoryModelStore::GetModel(const std::string& name) {
  absl::MutexLock lock(&state_->mutex);
  const MemoryModel* const model = Find(name);
  if (model == nullptr) {
    return ModelNotFound(name, 0);
  }
  return RecordOf(*model);
}

absl::StatusOr<VersionRecord> MemoryModelStore::GetVersion(const std::string& name,
                                                           int64_t version) {
  absl::MutexLock lock(&state_->mutex);
  const MemoryModel* const model = Find(name);
  if (model == nullptr) {
    return ModelNotFound(name, version);
  }
  const auto found =
      version == 0 ? std::prev(model->versions.end()) : model->versions.find(version);
  if (found == model->versions.end()) {
    return ModelNotFound(name, version);
  }
  return WithAliases(*model, found->second);
}

absl::StatusOr<Page<ModelRecord>> MemoryModelStore::ListModels(const PageRequest& page,
                                                               const VersionFilter& filter) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string query = DescribeVersionsQuery("models", filter);
  std::string after;
  if (!page.token.empty()) {
    MERCER_ASSIGN_OR_RETURN(after, ReadPageToken(query, page.token));
  }
  absl::MutexLock lock(&state_->mutex);
  std::vector<std::pair<std::string, ModelRecord>> items;
  for (const auto& [name, model] : state_->models) {
    if (name > after && !model.versions.empty() &&
        Passes(model.versions.rbegin()->second, filter)) {
      items.emplace_back(name, RecordOf(model));
    }
  }
  return CutPage(std::move(items), size, query);
}

absl::StatusOr<Page<VersionRecord>> MemoryModelStore::ListVersions(const std::string& name,
                                                                   const PageRequest& page,
                                                                   const VersionFilter& filter) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string query = DescribeVersionsQuery(absl::StrCat("versions|", name), filter);
  MERCER_ASSIGN_OR_RETURN(const int64_t before,
                          ReadPageToken(query, page.token, std::numeric_limits<int64_t>::max()));
  absl::MutexLock lock(&state_->mutex);
  const MemoryModel* const model = Find(name);
  if (model == nullptr) {
    return ModelNotFound(name, 0);
  }
  std::vector<std::pair<int64_t, VersionRecord>> items;
  for (auto entry = model->versions.rbegin(); entry != model->versions.rend(); ++entry) {
    if (entry->first < before && Passes(entry->second, filter)) {
      items.emplace_back(entry->first, WithAliases(*model, entry->second));
    }
  }
  return CutPage(std::move(items), size, query);
}

void MemoryModelStore::UpdateVersion(VersionUpdate update, Done<VersionRecord> done) {
  done(Update(update));
}

absl::StatusOr<VersionRecord> MemoryModelStore::Update(const VersionUpdate& update) {
  absl::MutexLock lock(&state_->mutex);
  MemoryModel* const model = Find(update.model);
  if (model == nullptr || model->versions.count(update.version) == 0) {
    return ModelNotFound(update.model, update.version);
  }
  MERCER_RETURN_IF_ERROR(CheckOwner(update.check, model->record.owner));
  VersionRecord& version = model->versions.at(update.version);
  const Labels labels = update.labels.value_or(version.labels);
  const std::string description = update.description.value_or(version.description);
  if (labels != version.labels || description != version.description) {
    if (!update.etag.empty() && update.etag != VersionEtag(version)) {
      return StaleEtag(
          absl::StrCat("version ", update.version, " of the model '", update.model, "'"),
          update.etag, VersionEtag(version));
    }
    version.labels = labels;
    version.description = description;
    ++version.revision;
    model->record.update_time = update.now;
  }
  return WithAliases(*model, version);
}

void MemoryModelStore::SetRetention(RetentionChange change, Done<DeletedVersions> done) {
  done(Retain(change));
}

absl::StatusOr<DeletedVersions> MemoryModelStore::Retain(const RetentionChange& change) {
  absl::MutexLock lock(&state_->mutex);
  MemoryModel* const model = Find(change.model);
  if (model == nullptr) {
    return ModelNotFound(change.model, 0);
  }
  if (!change.dry_run) {
    MERCER_RETURN_IF_ERROR(CheckOwner(change.check, model->record.owner));
    model->record.keep_newest = change.keep_newest;
    model->record.update_time = change.now;
  }
  return DropOldVersions(*model, change.keep_newest, change.dry_run);
}

void MemoryModelStore::MoveAlias(AliasMove move, Done<AliasRecord> done) { done(Move(move)); }

absl::StatusOr<AliasRecord> MemoryModelStore::Move(const AliasMove& move) {
  absl::MutexLock lock(&state_->mutex);
  MERCER_ASSIGN_OR_RETURN(const std::optional<AliasRecord> earlier,
                          FindEarlier(move.caller, move.request_id, move.request_digest));
  if (earlier.has_value()) {
    return *earlier;
  }
  MemoryModel* const model = Find(move.model);
  if (model == nullptr) {
    return ModelNotFound(move.model, 0);
  }
  MERCER_RETURN_IF_ERROR(CheckOwner(move.check, model->record.owner));
  AliasState state;
  if (const auto found = model->alias_changes.find(move.alias);
      found != model->alias_changes.end()) {
    state.last = found->second.back();
  }
  state.version_exists = model->versions.count(move.version) > 0;
  MERCER_ASSIGN_OR_RETURN(const std::optional<AliasChange> change, PlanMove(state, move));
  if (!change.has_value()) {
    return AliasAfter(move.model, move.alias, state.last);
  }
  model->alias_changes[move.alias].push_back(*change);
  AliasRecord alias = AliasAfter(move.model, move.alias, change);
  if (!move.request_id.empty()) {
    state_->moves[{move.caller, move.request_id}] = {move.request_digest, alias};
  }
  return alias;
}

absl::StatusOr<std::optional<AliasRecord>> MemoryModelStore::FindMove(
    const std::string& caller, const std::string& request_id, const std::string& request_digest) {
  absl::MutexLock lock(&state_->mutex);
  return FindEarlier(caller, request_id, request_digest);
}

absl::StatusOr<std::optional<AliasRecord>> MemoryModelStore::FindEarlier(
    const std::string& caller, const std::string& request_id,
    const std::string& request_digest) const {
  const auto found = state_->moves.find({caller, request_id});
  if (request_id.empty() || found == state_->moves.end()) {
    return std::nullopt;
  }
  if (found->second.digest != request_digest) {
    return MoveIdReused(request_id);
  }
  return found->second.answer;
}

absl::StatusOr<AliasRecord> MemoryModelStore::GetAlias(const std::string& model,
                                                       const std::string& alias) {
  return GetAliasAt(model, alias, absl::InfiniteFuture());
}

absl::StatusOr<AliasRecord> MemoryModelStore::GetAliasAt(const std::string& model,
                                                         const std::string& alias,
                                                         absl::Time time) {
  absl::MutexLock lock(&state_->mutex);
  const MemoryModel* const found = Find(model);
  if (found == nullptr) {
    return ModelNotFound(model, 0);
  }
  MERCER_ASSIGN_OR_RETURN(const std::vector<AliasChange>* changes, FindChanges(*found, alias));
  // Their times do not decrease.
  const auto after =
      std::upper_bound(changes->begin(), changes->end(), time,
                       [](absl::Time t, const AliasChange& change) { return t < change.time; });
  if (after == changes->begin() || std::prev(after)->to == 0) {
    return AliasNotFound(model, alias);
  }
  return AliasAfter(model, alias, *std::prev(after));
}

absl::StatusOr<Page<AliasRecord>> MemoryModelStore::ListAliases(const std::string& model,
                                                                const PageRequest& page) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string query = absl::StrCat("aliases|", model);
  std::string last;
  if (!page.token.empty()) {
    MERCER_ASSIGN_OR_RETURN(last, ReadPageToken(query, page.token));
  }
  absl::MutexLock lock(&state_->mutex);
  const MemoryModel* const found = Find(model);
  if (found == nullptr) {
    return ModelNotFound(model, 0);
  }
  std::vector<std::pair<std::string, AliasRecord>> items;
  for (const auto& [alias, changes] : found->alias_changes) {
    if (alias > last && changes.back().to != 0) {
      items.emplace_back(alias, AliasAfter(model, alias, changes.back()));
    }
  }
  return CutPage(std::move(items), size, query);
}

absl::StatusOr<Page<AliasChange>> MemoryModelStore::ListAliasChanges(const std::string& model,
                                                                     const std::string& alias,
                                                                     const PageRequest& page) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string query = absl::StrCat("alias-changes|", model, "@", alias);
  MERCER_ASSIGN_OR_RETURN(const int64_t before,
                          ReadPageToken(query, page.token, std::numeric_limits<int64_t>::max()));
  absl::MutexLock lock(&state_->mutex);
  const MemoryModel* const found = Find(model);
  if (found == nullptr) {
    return ModelNotFound(model, 0);
  }
  MERCER_ASSIGN_OR_RETURN(const std::vector<AliasChange>* changes, FindChanges(*found, alias));
  std::vector<std::pair<int64_t, AliasChange>> items;
  for (auto change = changes->rbegin(); change != changes->rend(); ++change) {
    if (change->sequence < before) {
      items.emplace_back(change->sequence, *change);
    }
  }
  return CutPage(std::move(items), size, query);
}

}  // namespace mercer::server
