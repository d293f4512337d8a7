// Batches of rows, cut so far that the server can answer each piece with one message.
#pragma once

#include <cstdint>
#include <limits>

#include "absl/status/statusor.h"

#include "client/cpp/client.h"
#include "mercer/v1/prediction_service.pb.h"

namespace mercer::client {

// Rows of all parts of `rows`; 0 when they differ or are not well-formed: such rows cannot be cut.
int64_t CountRows(const v1::Rows& rows);

// `count` rows from `begin` on; 0 <= begin, begin + count <= CountRows(rows).
v1::Rows SliceRows(const v1::Rows& rows, int64_t begin, int64_t count);

// Not thread-safe.
class RowPieces {
 public:
  // `next_rows` must outlive this.
  explicit RowPieces(const RowsSource& next_rows) : next_rows_(next_rows) {}

  // The next piece, which lives until the next call; null at the end. A batch as it comes, until Halve() is called.
  // Errors: those of the source.
  absl::StatusOr<const v1::PredictStreamRequest*> Next();
  // The answer to the last piece is too large: takes it back; no piece has more than half its rows from now on. False,
  // and nothing changes, when it cannot be cut.
  bool Halve();

 private:
  const RowsSource& next_rows_;
  v1::PredictStreamRequest batch_;  // the last one of the source
  v1::PredictStreamRequest piece_;
  int64_t rows_ = 0;   // of the batch; one that cannot be cut counts as one
  int64_t begin_ = 0;  // of the last piece in the batch
  int64_t end_ = 0;
  int64_t max_rows_ = std::numeric_limits<int64_t>::max();  // of a piece
};

}  // namespace mercer::client
