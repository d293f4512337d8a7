#include "server/translation/resource_names.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/shorten.h"

namespace mercer::server {
namespace {

absl::Status BadName(std::string_view field, std::string_view form, std::string_view name) {
  const std::string must = absl::StrCat("must be of the form ", std::string(form));
  return BadField(field, name.empty()
                             ? absl::StrCat("is missing; ", must)
                             : absl::StrCat(must, ", is '", Shorten(name, kQuotedBytes), "'"));
}

// Removes `prefix` from the front of `text`; false when it does not begin with it.
bool Consume(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

absl::StatusOr<std::string> ParseSimple(std::string_view name, std::string_view collection,
                                        std::string_view field) {
  std::string_view id = name;
  if (!Consume(id, collection) || !Consume(id, "/") || !IsResourceId(id)) {
    return BadName(field, absl::StrCat(std::string(collection), "/{id}"), name);
  }
  return std::string(id);
}

bool IsAliasForm(std::string_view text) {
  return !text.empty() && text.size() <= 63 &&
         std::string_view("-_.").find(text[0]) == std::string_view::npos &&
         text.find_first_not_of(kNameCharacters) == std::string_view::npos;
}

}  // namespace

absl::Status BadField(std::string_view field, std::string_view description) {
  FieldViolations violations;
  violations.Check(false, field, description);
  return violations.ToStatus();
}

bool IsResourceId(std::string_view id) {
  return IsAliasForm(id) && id.find('.') == std::string_view::npos;
}

bool IsAliasName(std::string_view alias) {
  return IsAliasForm(alias) && alias != "newest" &&
         alias.find_first_not_of("0123456789") != std::string_view::npos;
}

std::string DatasetName(std::string_view id) { return absl::StrCat("datasets/", std::string(id)); }
std::string UploadName(std::string_view id) { return absl::StrCat("uploads/", std::string(id)); }
std::string JobName(std::string_view id) { return absl::StrCat("jobs/", std::string(id)); }
std::string ModelName(std::string_view model) {
  return absl::StrCat("models/", std::string(model));
}
std::string ModelVersionName(std::string_view model, int64_t version) {
  return absl::StrCat("models/", std::string(model), "/versions/", version);
}
std::string ModelAliasName(std::string_view model, std::string_view alias) {
  return absl::StrCat("models/", std::string(model), "/aliases/", std::string(alias));
}

absl::StatusOr<std::string> ParseDatasetName(std::string_view name, std::string_view field) {
  return ParseSimple(name, "datasets", field);
}

absl::StatusOr<std::string> ParseUploadName(std::string_view name, std::string_view field) {
  return ParseSimple(name, "uploads", field);
}

absl::StatusOr<std::string> ParseJobName(std::string_view name, std::string_view field) {
  return ParseSimple(name, "jobs", field);
}

absl::StatusOr<ModelReference> ParseModelName(std::string_view name, std::string_view field) {
  constexpr std::string_view kForm =
      "models/{model}, models/{model}/versions/{n} or models/{model}/aliases/{alias}";
  std::string_view rest = name;
  if (!Consume(rest, "models/")) {
    return BadName(field, kForm, name);
  }
  ModelReference reference;
  const size_t end = rest.find('/');
  reference.model = std::string(rest.substr(0, end));
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
  bool valid = IsResourceId(reference.model);
  if (Consume(rest, "/versions/")) {
    // The digits themselves: " 1", "+1" and "01" are other names.
    valid = valid && absl::SimpleAtoi(std::string(rest), &reference.version) &&
            reference.version > 0 && absl::StrCat(reference.version) == rest;
  } else if (Consume(rest, "/aliases/")) {
    if (valid && !rest.empty() && !IsAliasName(rest)) {
      return BadField(field, absl::StrCat("the alias ", std::string(kAliasRule), "; it is '",
                                          Shorten(rest, kQuotedBytes), "'"));
    }
    valid = valid && !rest.empty();
    reference.alias = std::string(rest);
  } else {
    valid = valid && rest.empty();
  }
  if (!valid) {
    return BadName(field, kForm, name);
  }
  return reference;
}

absl::StatusOr<std::string> ParseWholeModelName(std::string_view name, std::string_view field) {
  absl::StatusOr<ModelReference> reference = ParseModelName(name, field);
  if (!reference.ok() || reference->version != 0 || !reference->alias.empty()) {
    return BadName(field, "models/{model}", name);
  }
  return std::move(reference->model);
}

absl::StatusOr<ModelReference> ParseVersionName(std::string_view name, std::string_view field) {
  absl::StatusOr<ModelReference> reference = ParseModelName(name, field);
  if (!reference.ok() || reference->version == 0) {
    return BadName(field, "models/{model}/versions/{n}", name);
  }
  return reference;
}

absl::StatusOr<ModelReference> ParseAliasName(std::string_view name, std::string_view field) {
  absl::StatusOr<ModelReference> reference = ParseModelName(name, field);
  if (reference.ok() && reference->alias.empty()) {
    return BadName(field, "models/{model}/aliases/{alias}", name);
  }
  return reference;
}

absl::Status AboutPage(const absl::Status& status) {
  const std::string reason = GetReason(status);
  if (reason != "BAD_PAGE_TOKEN" && reason != "BAD_PAGE_SIZE") {
    return status;
  }
  return WithReason(BadField(reason == "BAD_PAGE_TOKEN" ? "page_token" : "page_size",
                             std::string(status.message())),
                    reason, GetErrorMetadata(status));
}

absl::Status ResourceNotFound(std::string_view type, std::string_view name) {
  return WithReason(absl::NotFoundError(absl::StrCat("there is no ", std::string(type), " '",
                                                     std::string(name), "'")),
                    "NOT_FOUND",
                    {{"resource_type", std::string(type)}, {"resource_name", std::string(name)}});
}

absl::Status AboutResource(const absl::Status& status, std::string_view type,
                           std::string_view name) {
  if (absl::IsNotFound(status)) {
    return ResourceNotFound(type, name);
  }
  if (!absl::IsFailedPrecondition(status) && !absl::IsAborted(status)) {
    return status;
  }
  ErrorMetadata metadata = GetErrorMetadata(status);
  metadata.emplace_back("resource_type", std::string(type));
  metadata.emplace_back("resource_name", std::string(name));
  return WithReason(status, GetReason(status), metadata);
}

}  // namespace mercer::server
