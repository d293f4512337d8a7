#include "core/training/model/term_values.h"

#include <utility>

#include "core/base/status/status_macros.h"
#include "core/training/model/feature_term.h"
#include "core/training/model/kernel_term.h"
#include "core/training/model/model.h"

namespace mercer {

absl::StatusOr<std::vector<std::unique_ptr<const TermValues>>> MakeTermValues(
    const ModelFunction& function, const RunContext& context) {
  std::vector<std::unique_ptr<const TermValues>> terms;
  for (const KernelTerm& term : function.kernel_terms) {
    MERCER_ASSIGN_OR_RETURN(
        KernelTermValues values,
        KernelTermValues::Make(term, function.bases[static_cast<size_t>(term.basis)], context));
    terms.push_back(std::make_unique<KernelTermValues>(std::move(values)));
  }
  for (const FeatureTerm& term : function.feature_terms) {
    MERCER_ASSIGN_OR_RETURN(FeatureTermValues values,
                            FeatureTermValues::Make(term, function.num_outputs()));
    terms.push_back(std::make_unique<FeatureTermValues>(std::move(values)));
  }
  return terms;
}

}  // namespace mercer
