#include "core/training/terms/term_encoding.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/shorten.h"
#include "core/training/terms/feature_term.h"
#include "core/training/terms/kernel_term.h"
#include "core/training/terms/term_kinds.h"

namespace mercer {
namespace {

bool HasPlaceOfItsOwn(const Term& term) {
  return term.kind() == KernelTerm::kKind || term.kind() == FeatureTerm::kKind;
}

// The place of the kind in the list of kinds; behind all when it is none of this build.
size_t PlaceOf(const std::shared_ptr<const Term>& term) {
  const std::vector<TermKind>& kinds = AllTermKinds();
  size_t place = 0;
  while (place < kinds.size() && kinds[place].name != term->kind()) {
    ++place;
  }
  return place;
}

bool IsBefore(const std::shared_ptr<const Term>& left, const std::shared_ptr<const Term>& right) {
  return PlaceOf(left) < PlaceOf(right);
}

}  // namespace

void WriteTermsOfKind(const Terms& terms, std::string_view kind, ByteWriter& writer) {
  const auto is_one = [kind](const auto& term) { return term->kind() == kind; };
  writer.WriteUint64(static_cast<uint64_t>(std::count_if(terms.begin(), terms.end(), is_one)));
  for (const std::shared_ptr<const Term>& term : terms) {
    if (is_one(term)) {
      term->Write(writer);
    }
  }
}

Terms WithTermsOfKind(Terms terms, std::string_view kind, ByteReader& reader) {
  const TermKind& known = *FindTermKind(kind);
  const uint64_t count = reader.ReadUint64();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    terms.push_back(known.read(reader));
  }
  return terms;
}

NamedTerms SaveNamedTerms(const Terms& terms) {
  NamedTerms saved;
  for (const std::shared_ptr<const Term>& term : terms) {
    if (!HasPlaceOfItsOwn(*term)) {
      ByteWriter writer;
      term->Write(writer);
      saved.emplace_back(std::string(term->kind()), std::move(writer).Take());
    }
  }
  return saved;
}

absl::Status LoadNamedTerms(const NamedTerms& saved, Terms& terms) {
  for (const auto& [name, bytes] : saved) {
    const TermKind* kind = FindTermKind(name);
    if (kind == nullptr) {
      return WithReason(absl::FailedPreconditionError(absl::StrCat(
                            "the model has a term of a kind that this program does not know: ",
                            Shorten(name, kQuotedBytes))),
                        "UNKNOWN_TERM", {{"kind", Shorten(name, kQuotedBytes)}});
    }
    ByteReader reader(bytes);
    terms.push_back(kind->read(reader));
    if (!reader.AtEnd() || HasPlaceOfItsOwn(*terms.back())) {
      return UnreadableModel("its content is inconsistent");
    }
  }
  return absl::OkStatus();
}

void SortTerms(Terms& terms) { std::stable_sort(terms.begin(), terms.end(), IsBefore); }

bool AreSorted(const Terms& terms) {
  return std::is_sorted(terms.begin(), terms.end(), IsBefore) &&
         (terms.empty() || PlaceOf(terms.back()) < AllTermKinds().size());
}

}  // namespace mercer
