// Pieces of work that know nothing of each other, done at the same time.
#pragma once

#include <functional>

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

// Calls work(i, context of its own) for every i in [0, count), concurrently; each has its share of
// the threads of `context`, at least one, and tells stages without the share of them that is done,
// which would jump between pieces. A single piece has `context` itself. After a cancellation pieces
// that have not begun do not begin; an error ends no other piece. So what is returned does not
// depend on the threads: the error of the first piece that has one other than kCancelled, else
// kCancelled if any has it.
absl::Status SideBySide(Index count, RunContext& context,
                        const std::function<absl::Status(Index, RunContext&)>& work);

}  // namespace mercer
