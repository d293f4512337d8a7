// All kinds of terms of this build. terms.inc is their only list.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/base/encoding/saved_fields.h"
#include "core/training/terms/term.h"

namespace mercer {

struct TermKind {
  std::string_view name;
  // Reads what Term::Write of a term of this kind has written; damage marks the reader. Never null.
  std::shared_ptr<const Term> (*read)(ByteReader& reader) = nullptr;
};

// The kind of terms that are structs with saved fields.
template <typename Own>
TermKind MakeTermKind() {
  return {Own::kKind, [](ByteReader& reader) -> std::shared_ptr<const Term> {
            auto term = std::make_shared<Own>();
            ReadFields(reader, *term);
            return term;
          }};
}

// The kinds in the order of terms.inc.
const std::vector<TermKind>& AllTermKinds();

// The kind of that name; null when there is none.
const TermKind* FindTermKind(std::string_view name);

}  // namespace mercer
