#include "server/translation/list_fields.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

#include "core/base/status/status_macros.h"
#include "mercer/v1/job.pb.h"
#include "server/storage/records.h"
#include "server/translation/enum_translator.h"
#include "server/translation/resource_names.h"

namespace mercer::server {
namespace {

using FieldKind = ListField::Kind;

// "FAILED" or "JOB_STATE_FAILED": the API's enumerators have the numbers of the stores'.
template <typename Enumerator>
absl::StatusOr<FilterValue> ReadEnumerator(std::string_view text) {
  const google::protobuf::EnumDescriptor& type = *google::protobuf::GetEnumDescriptor<Enumerator>();
  std::string words;
  for (int i = 1; i < type.value_count(); ++i) {
    const std::string word = EnumeratorWord(*type.value(i));
    if (text == type.value(i)->name() || text == word) {
      return FilterValue{"", type.value(i)->number()};
    }
    absl::StrAppend(&words, words.empty() ? "" : ", ", word);
  }
  return absl::InvalidArgumentError(absl::StrCat("must be one of ", words));
}

constexpr char kJobForm[] = "jobs/{id}";
constexpr char kDatasetForm[] = "datasets/{id}";
constexpr char kModelForm[] = "models/{model}";

template <auto parse, const auto& form>
absl::StatusOr<FilterValue> ReadName(std::string_view text) {
  absl::StatusOr<std::string> id = parse(text, "");
  if (!id.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("must be of the form ", form));
  }
  return FilterValue{*std::move(id), 0};
}

// Without a version, the number 0.
absl::StatusOr<FilterValue> ReadVersionName(std::string_view text) {
  absl::StatusOr<ModelReference> model = ParseModelName(text, "");
  if (!model.ok() || !model->alias.empty()) {
    return absl::InvalidArgumentError(
        "must be of the form models/{model} or models/{model}/versions/{n}");
  }
  return FilterValue{std::move(model->model), model->version};
}

absl::StatusOr<FilterValue> ReadModelAlias(std::string_view text) {
  const absl::StatusOr<ModelReference> alias = ParseAliasName(text, "");
  if (!alias.ok()) {
    return absl::InvalidArgumentError("must be of the form models/{model}/aliases/{alias}");
  }
  return FilterValue{absl::StrCat(alias->model, "@", alias->alias), 0};
}

using Key = ListOrder::Key;
constexpr Key kJobOrders[] = {Key::kCreateTime, Key::kName, Key::kEndTime, Key::kPriority};
constexpr Key kModelOrders[] = {Key::kCreateTime, Key::kName, Key::kUpdateTime};
constexpr Key kVersionOrders[] = {Key::kCreateTime, Key::kName, Key::kSizeBytes};
constexpr Key kDatasetOrders[] = {Key::kCreateTime, Key::kName, Key::kSizeBytes, Key::kRows};

constexpr ListField kJobFilterFields[] = {
    {"name", FieldKind::kName, ReadName<ParseJobName, kJobForm>},
    {"display_name", FieldKind::kText},
    {"state", FieldKind::kWord, ReadEnumerator<v1::JobState>},
    {"learner", FieldKind::kText},
    {"model", FieldKind::kName, ReadVersionName},
    {"datasets", FieldKind::kNames, ReadName<ParseDatasetName, kDatasetForm>},
    {"kind", FieldKind::kWord, ReadEnumerator<v1::JobKind>},
    {"owner", FieldKind::kText},
    {"priority", FieldKind::kNumber},
    {"create_time", FieldKind::kTime},
    {"start_time", FieldKind::kTime},
    {"end_time", FieldKind::kTime},
    {"labels", FieldKind::kLabels},
};

constexpr ListField kModelFilterFields[] = {
    {"name", FieldKind::kName, ReadName<ParseWholeModelName, kModelForm>},
    {"display_name", FieldKind::kText},
    {"description", FieldKind::kText},
    {"owner", FieldKind::kText},
    {"create_time", FieldKind::kTime},
    {"update_time", FieldKind::kTime},
    {"num_versions", FieldKind::kNumber},
    {"aliases", FieldKind::kNames, ReadModelAlias},
    {"labels", FieldKind::kLabels},
};

constexpr ListField kVersionFilterFields[] = {
    {"name", FieldKind::kName, ReadVersionName},
    {"learner", FieldKind::kText},
    {"description", FieldKind::kText},
    {"owner", FieldKind::kText},
    {"job", FieldKind::kName, ReadName<ParseJobName, kJobForm>},
    {"datasets", FieldKind::kNames, ReadName<ParseDatasetName, kDatasetForm>},
    {"size_bytes", FieldKind::kNumber},
    {"create_time", FieldKind::kTime},
    {"aliases", FieldKind::kNames, ReadModelAlias},
    {"labels", FieldKind::kLabels},
};

constexpr ListField kDatasetFilterFields[] = {
    {"name", FieldKind::kName, ReadName<ParseDatasetName, kDatasetForm>},
    {"display_name", FieldKind::kText},
    {"rows", FieldKind::kNumber},
    {"size_bytes", FieldKind::kNumber},
    {"owner", FieldKind::kText},
    {"create_time", FieldKind::kTime},
    {"labels", FieldKind::kLabels},
};

absl::StatusOr<ListQuery> ReadQuery(std::string_view filter, std::string_view order_by,
                                    absl::Span<const ListField> fields,
                                    absl::Span<const Key> keys) {
  ListQuery query;
  if (filter.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    MERCER_ASSIGN_OR_RETURN(query.filter, ParseFilter(filter, fields));
  }
  MERCER_ASSIGN_OR_RETURN(query.order, ParseListOrder(order_by, keys));
  return query;
}

}  // namespace

absl::StatusOr<ListQuery> ReadJobQuery(std::string_view filter, std::string_view order_by) {
  return ReadQuery(filter, order_by, kJobFilterFields, kJobOrders);
}

absl::StatusOr<ListQuery> ReadModelQuery(std::string_view filter, std::string_view order_by) {
  return ReadQuery(filter, order_by, kModelFilterFields, kModelOrders);
}

absl::StatusOr<ListQuery> ReadVersionQuery(std::string_view filter, std::string_view order_by) {
  return ReadQuery(filter, order_by, kVersionFilterFields, kVersionOrders);
}

absl::StatusOr<ListQuery> ReadDatasetQuery(std::string_view filter, std::string_view order_by) {
  return ReadQuery(filter, order_by, kDatasetFilterFields, kDatasetOrders);
}

}  // namespace mercer::server
