// Columns that say which row it is, and nothing about it.
#pragma once

#include <cstddef>

#include "core/data/table/dataset.h"

namespace mercer {

// Whether to look for such columns: a column of few rows may hold different numbers by chance, and
// an only feature is what there is to learn from.
bool MayHoldIdentifiers(const Dataset& dataset);

// Whether the column of a dense block has a name of its own in nine of ten rows, but for texts of
// another kind (text_kind.h), or numbers the rows: whole numbers, each in one row alone, in the
// order of the rows, without gaps to speak of, or by the column's name. Reads the first rows, and
// a million of them where those do not rule it out.
bool LooksLikeIdentifier(const FeatureBlock& block, size_t column);

}  // namespace mercer
