// Terms of a model's function, for tests that know their kinds.
#pragma once

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "core/training/model/model.h"

namespace mercer {

// The term of that kind at this place among those of its kind; an empty one, and the test fails, when
// there is none.
template <typename Kind>
const Kind& TermAt(const ModelFunction& function, size_t place = 0) {
  static const Kind none;
  const std::vector<const Kind*> terms = TermsOf<Kind>(function.terms);
  if (place >= terms.size()) {
    ADD_FAILURE() << "no " << Kind::kKind << " term " << place;
    return none;
  }
  return *terms[place];
}

// Puts what change(term) makes of each term of that kind in its place.
template <typename Kind, typename Change>
void ChangeTerms(ModelFunction& function, const Change& change) {
  for (std::shared_ptr<const Term>& term : function.terms) {
    if (term->kind() == Kind::kKind) {
      auto changed = std::make_shared<Kind>(static_cast<const Kind&>(*term));
      change(*changed);
      term = std::move(changed);
    }
  }
}

// The same for the first term of that kind, of which there must be one.
template <typename Kind, typename Change>
void ChangeTerm(ModelFunction& function, const Change& change) {
  bool found = false;
  ChangeTerms<Kind>(function, [&](Kind& term) {
    if (!found) {
      change(term);
      found = true;
    }
  });
  EXPECT_TRUE(found) << "no " << Kind::kKind << " term";
}

template <typename Kind>
void AddTerm(Kind term, ModelFunction& function) {
  function.terms.push_back(std::make_shared<const Kind>(std::move(term)));
}

}  // namespace mercer
