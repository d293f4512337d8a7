#include "server/translation/field_update.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status/errors.h"
#include "core/base/status/shorten.h"
#include "core/base/status/status_macros.h"
#include "server/translation/recipe_translator.h"

namespace mercer::server {
namespace {

constexpr size_t kMaxDescriptionBytes = 4096;

std::vector<std::string> PathsOf(const ChangeableFields& given) {
  std::vector<std::string> paths;
  if (given.labels != nullptr) {
    paths.emplace_back("labels");
  }
  if (given.display_name != nullptr) {
    paths.emplace_back("display_name");
  }
  if (given.description != nullptr) {
    paths.emplace_back("description");
  }
  return paths;
}

void CheckMask(const google::protobuf::FieldMask& mask, const std::vector<std::string>& known,
               FieldViolations& violations) {
  const std::string names = absl::StrJoin(known, ", ");
  violations.Check(mask.paths_size() > 0, "update_mask",
                   absl::StrCat("is empty; what can be changed: ", names));
  for (const std::string& path : mask.paths()) {
    violations.Check(std::find(known.begin(), known.end(), path) != known.end(), "update_mask",
                     absl::StrCat("there is no path '", Shorten(path, kQuotedBytes),
                                  "'; what can be changed: ", names));
  }
}

}  // namespace

absl::StatusOr<ResourceUpdate> ReadFieldUpdate(std::string_view resource,
                                               const ChangeableFields& given,
                                               const google::protobuf::FieldMask* mask) {
  const std::vector<std::string> known = PathsOf(given);
  FieldViolations violations;
  if (mask != nullptr) {
    CheckMask(*mask, known, violations);
  }
  ResourceUpdate update;
  update.etag = given.etag;
  FieldViolations of_resource;
  const std::vector<std::string> paths =
      mask == nullptr ? known
                      : std::vector<std::string>(mask->paths().begin(), mask->paths().end());
  for (const std::string& path : paths) {
    if (path == "labels" && given.labels != nullptr) {
      CheckLabels(*given.labels, of_resource);
      update.labels = Labels(given.labels->begin(), given.labels->end());
    } else if (path == "display_name" && given.display_name != nullptr) {
      CheckDisplayName(*given.display_name, of_resource);
      update.display_name = *given.display_name;
    } else if (path == "description" && given.description != nullptr) {
      of_resource.Check(given.description->size() <= kMaxDescriptionBytes, "description",
                        absl::StrCat("must be at most ", kMaxDescriptionBytes, " bytes, are ",
                                     given.description->size()));
      update.description = *given.description;
    }
  }
  violations.AddAll(std::string(resource), of_resource.ToStatus());
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  return update;
}

}  // namespace mercer::server
