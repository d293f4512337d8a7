#include "core/training/terms/term_kinds.h"

// A program with further kinds links this file compiled with a list of its own.
#ifndef MERCER_TERMS
#define MERCER_TERMS "core/training/terms/terms.inc"
#endif

namespace mercer {

namespace terms {
#define MERCER_TERM(Name) TermKind Name();
#include MERCER_TERMS
#undef MERCER_TERM
}  // namespace terms

namespace {

std::vector<TermKind> MakeKinds() {
  std::vector<TermKind> kinds;
#define MERCER_TERM(Name) kinds.push_back(terms::Name());
#include MERCER_TERMS
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
