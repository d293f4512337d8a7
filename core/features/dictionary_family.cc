#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/features/feature_family.h"

namespace mercer {
namespace {

class DictionaryFamily : public FeatureFamily {
 public:
  DictionaryFamily(std::shared_ptr<const FeatureFamily> family,
                   std::vector<FeatureParameters> groups)
      : family_(std::move(family)), groups_(std::move(groups)) {}

  std::string_view name() const override { return family_->name(); }
  Index num_inputs() const override { return family_->num_inputs(); }
  Index columns_per_group() const override { return family_->columns_per_group(); }
  std::vector<std::string> parameter_names() const override { return family_->parameter_names(); }
  absl::StatusOr<std::vector<FeatureParameters>> Draw(
      uint64_t /*seed*/, uint64_t /*round*/, const RunContext& /*context*/) const override {
    return groups_;
  }
  bool is_finite() const override { return true; }
  bool searches_in_single() const override { return family_->searches_in_single(); }
  absl::Status CheckParameters(absl::Span<const double> parameters) const override {
    return family_->CheckParameters(parameters);
  }
  std::unique_ptr<const FeatureMap> Bind(
      absl::Span<const FeatureParameters> groups) const override {
    return family_->Bind(groups);
  }
  const FeatureMotion* motion() const override { return nullptr; }
  Index work_per_row() const override { return family_->work_per_row(); }

 private:
  std::shared_ptr<const FeatureFamily> family_;
  std::vector<FeatureParameters> groups_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const FeatureFamily>> MakeDictionary(
    std::shared_ptr<const FeatureFamily> family, std::vector<FeatureParameters> groups) {
  FieldViolations violations;
  violations.Check(!groups.empty(), "groups", "must name at least one group");
  for (size_t g = 0; g < groups.size(); ++g) {
    violations.AddAll(absl::StrCat("groups[", g, "]"), family->CheckParameters(groups[g]));
  }
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  return std::make_shared<const DictionaryFamily>(std::move(family), std::move(groups));
}

}  // namespace mercer
