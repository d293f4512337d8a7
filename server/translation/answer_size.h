// How large answers are: that to a prediction before anything of it is allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include <google/protobuf/message.h>

#include "core/training/model/predictor.h"

namespace mercer::server {

// What the tables of a model may take of its message and of its stored summary.
inline constexpr size_t kMaxTableBytes = size_t{8} << 20;
// What weights, which have fields of their own, may take to be told as a table too: the answer keeps
// within the 4 MiB that clients of gRPC take by default where it did without tables.
inline constexpr size_t kMaxCopiedBytes = size_t{1} << 20;

// Errors: kResourceExhausted with reason RESPONSE_TOO_LARGE when the answer itself exceeds
// `limit_bytes`.
absl::Status CheckMessageSize(const google::protobuf::Message& answer, int64_t limit_bytes);

// Errors: kResourceExhausted with reason RESPONSE_TOO_LARGE when the numbers of the rows alone, those
// of the outputs and what else is asked for, exceed `limit_bytes`.
absl::Status CheckAnswerSize(const Model& model, const PredictOptions& asked, Index rows,
                             int64_t limit_bytes);

// At most `most` rows, at least one, whose answer keeps within the limit (if that of one row does).
Index RowsPerAnswer(const Model& model, const PredictOptions& asked, Index most,
                    int64_t limit_bytes);

}  // namespace mercer::server
