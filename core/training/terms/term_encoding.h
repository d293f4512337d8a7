// How the terms of a function are saved: those of the first two kinds, which had places of their
// own before others could be added, side by side with their number; all others by the names of
// their kinds.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "core/base/encoding/saved_fields.h"
#include "core/training/terms/term.h"

namespace mercer {

// The number of the terms of a kind, and these.
void WriteTermsOfKind(const Terms& terms, std::string_view kind, ByteWriter& writer);
// Reads them and puts them behind `terms`.
Terms WithTermsOfKind(Terms terms, std::string_view kind, ByteReader& reader);

// The saved field of the terms of a kind that has a place of its own.
template <typename List>
auto TermsOfKind(List& terms, std::string_view kind) {
  return Custom(
      terms, [kind](const Terms& all, ByteWriter& writer) { WriteTermsOfKind(all, kind, writer); },
      [kind, &terms](ByteReader& reader) { return WithTermsOfKind(terms, kind, reader); });
}

// The saved form of terms of all other kinds: the name of the kind and what the term has written.
using NamedTerms = std::vector<std::pair<std::string, std::string>>;
NamedTerms SaveNamedTerms(const Terms& terms);
// Reads them and puts them behind `terms`. Errors: kDataLoss (damaged), kFailedPrecondition with
// reason UNKNOWN_TERM (no such kind in this build).
absl::Status LoadNamedTerms(const NamedTerms& saved, Terms& terms);

// Puts terms in the order of their kinds, those of one kind in the order that they had.
void SortTerms(Terms& terms);
// Whether they stand in that order, and each is of a kind of this build.
bool AreSorted(const Terms& terms);

}  // namespace mercer
