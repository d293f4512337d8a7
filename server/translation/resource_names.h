// Names of resources: datasets/{id}, uploads/{id}, jobs/{id}, models/{model}/versions/{n}, models/{model},
// models/{model}/aliases/{alias}.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace mercer::server {

// Of ids, aliases and keys of labels.
inline constexpr char kNameCharacters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";

// 1 to 63 of a-z, 0-9, '-', '_', beginning with a letter or digit.
bool IsResourceId(std::string_view id);
inline constexpr std::string_view kResourceIdRule =
    "must be 1 to 63 of a-z, 0-9, '-', '_', beginning with a letter or digit";

// The rule of ids with '.' allowed, but no digits alone, which read as a version, and not "newest",
// which reads as what "models/{model}" is.
bool IsAliasName(std::string_view alias);
inline constexpr std::string_view kAliasRule =
    "must be 1 to 63 of a-z, 0-9, '-', '_', '.', beginning with a letter or digit, with something "
    "else than digits, and not 'newest'";

std::string DatasetName(std::string_view id);
std::string UploadName(std::string_view id);
std::string JobName(std::string_view id);
std::string ModelName(std::string_view model);
std::string ModelVersionName(std::string_view model, int64_t version);
std::string ModelAliasName(std::string_view model, std::string_view alias);

// kInvalidArgument with a violation of that field alone.
absl::Status BadField(std::string_view field, std::string_view description);

// The id of `name`. Errors: kInvalidArgument with a violation of the request's field `field`.
absl::StatusOr<std::string> ParseDatasetName(std::string_view name, std::string_view field);
absl::StatusOr<std::string> ParseUploadName(std::string_view name, std::string_view field);
absl::StatusOr<std::string> ParseJobName(std::string_view name, std::string_view field);

// What a model's name refers to.
struct ModelReference {
  std::string model;
  int64_t version = 0;  // 0: the newest, or that of `alias`
  std::string alias;    // not empty: the version that it points to
};

absl::StatusOr<ModelReference> ParseModelName(std::string_view name, std::string_view field);
// "models/{model}" alone; its id.
absl::StatusOr<std::string> ParseWholeModelName(std::string_view name, std::string_view field);
// "models/{model}/versions/{n}" alone.
absl::StatusOr<ModelReference> ParseVersionName(std::string_view name, std::string_view field);
// "models/{model}/aliases/{alias}" alone.
absl::StatusOr<ModelReference> ParseAliasName(std::string_view name, std::string_view field);

// A store's refusal of a page's size or token, as a violation of the request's field; other errors
// stay as they are.
absl::Status AboutPage(const absl::Status& status);

// kNotFound about the resource of that name: reason NOT_FOUND, metadata resource_type and
// resource_name.
absl::Status ResourceNotFound(std::string_view type, std::string_view name);
// A store's "not found" or refusal, said as that of the resource; other errors stay as they are.
absl::Status AboutResource(const absl::Status& status, std::string_view type,
                           std::string_view name);
template <typename Answer>
absl::StatusOr<Answer> AboutResource(absl::StatusOr<Answer> answer, std::string_view type,
                                     std::string_view name) {
  return answer.ok() ? std::move(answer) : AboutResource(answer.status(), type, name);
}

}  // namespace mercer::server
