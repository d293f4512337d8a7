#include "core/base/numeric/row_blocks.h"

#include <algorithm>

namespace mercer {

static_assert(kRowBlock % kRowPiece == 0 && std::has_single_bit(static_cast<uint64_t>(kRowBlock)) &&
              std::has_single_bit(static_cast<uint64_t>(kRowPiece)));

std::vector<RowPiece> PiecesOfRows(Index rows) {
  std::vector<RowPiece> pieces;
  for (Index begin = 0; begin < rows; begin += kRowPiece) {
    pieces.push_back({begin / kRowPiece, begin, std::min(kRowPiece, rows - begin)});
  }
  return pieces;
}

std::vector<RowPiece> PiecesOfList(absl::Span<const Index> rows) {
  std::vector<RowPiece> pieces;
  Index block = -1;
  for (size_t j = 0; j < rows.size(); ++j) {
    const bool same = rows[j] / kRowBlock == block;
    if (!same || pieces.back().count == kRowPiece) {
      block = rows[j] / kRowBlock;
      const Index number = same ? pieces.back().number + 1 : block * (kRowBlock / kRowPiece);
      pieces.push_back({number, static_cast<Index>(j), 0});
    }
    ++pieces.back().count;
  }
  return pieces;
}

}  // namespace mercer
