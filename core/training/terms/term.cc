#include "core/training/terms/term.h"

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"

namespace mercer {

absl::Status Term::CheckShape(const TermPlace& place) const {
  int previous = -1;
  for (const int output : outputs) {
    if (output <= previous || output >= place.num_outputs) {
      return UnreadableModel(
          absl::StrCat("a ", std::string(kind()), " term names an output that does not exist"));
    }
    previous = output;
  }
  if (outputs.empty()) {
    return UnreadableModel(absl::StrCat("a ", std::string(kind()), " term names no output"));
  }
  return CheckOwnShape(place);
}

std::vector<const Term*> WithGradients(const Terms& terms) {
  std::vector<const Term*> found;
  for (const std::shared_ptr<const Term>& term : terms) {
    if (term->gradient() != nullptr) {
      found.push_back(term.get());
    }
  }
  return found;
}

absl::Status UnreadableModel(std::string_view what) {
  return absl::DataLossError(absl::StrCat("not a readable model: ", std::string(what)));
}

}  // namespace mercer
