// What an interrupted run needs to go on with the same bits. Products are part of it: recomputed
// ones would lack the rounding of all steps so far.
#include <utility>

#include "core/base/encoding/bytes.h"
#include "core/base/status/status_macros.h"
#include "core/solvers/mkl/smo_mkl.h"

namespace mercer {
namespace {

constexpr uint64_t kSmoMklStateVersion = 1;

}  // namespace

std::string SmoMklSolver::SaveState() const {
  ByteWriter writer;
  writer.WriteUint64(kSmoMklStateVersion);
  WriteFields(state_, writer, Sizes{num_samples(), num_kernels()});
  return std::move(writer).Take();
}

absl::Status SmoMklSolver::RestoreState(const SvmProblem& problem, std::string_view bytes,
                                        RunContext& context) {
  MERCER_RETURN_IF_ERROR(SetProblem(problem, context));
  ByteReader reader(bytes);
  State state;
  const bool known = reader.ReadUint64() == kSmoMklStateVersion;
  if (!known || !ReadFields(reader, state, Sizes{num_samples(), num_kernels()}) ||
      !reader.AtEnd()) {
    return absl::InvalidArgumentError("not a state of this solver for this problem");
  }
  state_ = std::move(state);
  scores_.resize(num_samples());
  combined_diagonal_.resize(num_samples());
  combined_row_.resize(num_samples());
  ForSamples(context, [&](Index first, Index size) { CombineBlock(first, size); });
  return absl::OkStatus();
}

}  // namespace mercer
