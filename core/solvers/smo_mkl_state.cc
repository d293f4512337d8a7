// What an interrupted run needs to go on with the same bits. Products are part of it: recomputed
// ones would lack the rounding of all steps so far.
#include <utility>

#include "core/base/bytes.h"
#include "core/base/status_macros.h"
#include "core/base/step_count.h"
#include "core/solvers/smo_mkl.h"

namespace mercer {
namespace {

constexpr uint64_t kSmoMklStateVersion = 1;

}  // namespace

std::string SmoMklSolver::SaveState() const {
  ByteWriter writer;
  writer.WriteUint64(kSmoMklStateVersion);
  writer.WriteVector(state_.dual);
  writer.WriteMatrix(state_.products);
  writer.WriteVector(state_.energies);
  writer.WriteVector(state_.weights);
  writer.WriteInt64(state_.iterations);
  writer.WriteInt64(state_.stalled_rounds);
  writer.WriteBool(state_.round_is_due);
  writer.WriteBool(state_.exact);
  writer.WriteDouble(state_.dual_value);
  writer.WriteUint8(static_cast<uint8_t>(state_.stop));
  writer.WriteVector(state_.best.dual);
  writer.WriteVector(state_.best.weights);
  for (const double value :
       {state_.best.certificate.primal, state_.best.certificate.dual, state_.best.certificate.bias,
        state_.upper_bound, state_.lower_bound}) {
    writer.WriteDouble(value);
  }
  return std::move(writer).Take();
}

absl::Status SmoMklSolver::RestoreState(const SvmProblem& problem, std::string_view bytes,
                                        RunContext& context) {
  MERCER_RETURN_IF_ERROR(SetProblem(problem, context));
  ByteReader reader(bytes);
  State state;
  const bool known = reader.ReadUint64() == kSmoMklStateVersion;
  state.dual = reader.ReadVector();
  state.products = reader.ReadMatrix();
  state.energies = reader.ReadVector();
  state.weights = reader.ReadVector();
  state.iterations = reader.ReadInt64();
  state.stalled_rounds = reader.ReadInt64();
  state.round_is_due = reader.ReadBool();
  state.exact = reader.ReadBool();
  state.dual_value = reader.ReadDouble();
  const uint8_t stop = reader.ReadUint8();
  state.best.dual = reader.ReadVector();
  state.best.weights = reader.ReadVector();
  SmoMklCertificate& certificate = state.best.certificate;
  for (double* value : {&certificate.primal, &certificate.dual, &certificate.bias,
                        &state.upper_bound, &state.lower_bound}) {
    *value = reader.ReadDouble();
  }
  const Index n = num_samples();
  const Index m = num_kernels();
  if (!known || !reader.AtEnd() || state.dual.size() != n || state.products.rows() != n ||
      state.products.cols() != m || state.energies.size() != m || state.weights.size() != m ||
      state.best.dual.size() != n || state.best.weights.size() != m ||
      !IsStepCount(state.iterations) || !IsStepCount(state.stalled_rounds) ||
      stop > static_cast<uint8_t>(SmoMklStop::kPrecision) || !state.dual.allFinite() ||
      !state.energies.allFinite() || !state.weights.allFinite()) {
    return absl::InvalidArgumentError("not a state of this solver for this problem");
  }
  state.stop = static_cast<SmoMklStop>(stop);
  state_ = std::move(state);
  scores_.resize(n);
  combined_diagonal_.resize(n);
  combined_row_.resize(n);
  ForSamples(context, [&](Index first, Index size) { CombineBlock(first, size); });
  return absl::OkStatus();
}

}  // namespace mercer
