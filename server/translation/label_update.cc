#include "server/translation/label_update.h"

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/shorten.h"
#include "core/base/status/status_macros.h"
#include "server/translation/recipe_translator.h"

namespace mercer::server {

absl::StatusOr<Labels> ReadLabelUpdate(
    std::string_view resource, const google::protobuf::Map<std::string, std::string>& labels,
    const google::protobuf::FieldMask* mask) {
  FieldViolations violations;
  if (mask != nullptr) {
    violations.Check(mask->paths_size() > 0, "update_mask", "is empty; name labels");
    for (const std::string& path : mask->paths()) {
      violations.Check(path == "labels", "update_mask",
                       absl::StrCat("there is no path '", Shorten(path, kQuotedBytes),
                                    "'; labels can be changed"));
    }
  }
  FieldViolations of_labels;
  CheckLabels(labels, of_labels);
  violations.AddAll(std::string(resource), of_labels.ToStatus());
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  return Labels(labels.begin(), labels.end());
}

}  // namespace mercer::server
