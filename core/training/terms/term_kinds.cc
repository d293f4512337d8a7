#include "core/training/terms/term_kinds.h"

namespace mercer {

namespace terms {
#define MERCER_TERM(Name) TermKind Name();
#include "core/training/terms/terms.inc"
#undef MERCER_TERM
}  // namespace terms

namespace {

std::vector<TermKind> MakeKinds() {
  std::vector<TermKind> kinds;
#define MERCER_TERM(Name) kinds.push_back(terms::Name());
#include "core/training/terms/terms.inc"
#undef MERCER_TERM
  return kinds;
}

}  // namespace

const std::vector<TermKind>& AllTermKinds() {
  static const auto& kinds = *new std::vector<TermKind>(MakeKinds());
  return kinds;
}

const TermKind* FindTermKind(std::string_view name) {
  for (const TermKind& kind : AllTermKinds()) {
    if (kind.name == name) {
      return &kind;
    }
  }
  return nullptr;
}

}  // namespace mercer
