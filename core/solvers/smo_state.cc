// Saving and restoring an SmoSolver.
#include "absl/strings/str_cat.h"

#include "core/base/bytes.h"
#include "core/base/status_macros.h"
#include "core/base/step_count.h"
#include "core/solvers/smo.h"

namespace mercer {
namespace {

void WriteCertificate(const SvmCertificate& certificate, ByteWriter& writer) {
  for (const double value : {certificate.primal, certificate.dual, certificate.unscaled_primal,
                             certificate.unscaled_dual, certificate.primal_scale,
                             certificate.dual_scale, certificate.bias.low, certificate.bias.high,
                             certificate.bias.chosen, certificate.quadratic_form}) {
    writer.WriteDouble(value);
  }
}

void ReadCertificate(ByteReader& reader, SvmCertificate& certificate) {
  for (double* value : {&certificate.primal, &certificate.dual, &certificate.unscaled_primal,
                        &certificate.unscaled_dual, &certificate.primal_scale,
                        &certificate.dual_scale, &certificate.bias.low, &certificate.bias.high,
                        &certificate.bias.chosen, &certificate.quadratic_form}) {
    *value = reader.ReadDouble();
  }
}

// Whether these are different samples of 0 .. n - 1 in ascending order.
bool IsActiveSet(const std::vector<Index>& active, Index n) {
  for (size_t t = 0; t < active.size(); ++t) {
    if (active[t] < 0 || active[t] >= n || (t > 0 && active[t] <= active[t - 1])) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string SmoSolver::SaveState() const {
  ByteWriter writer;
  writer.WriteVector(diagonal_);
  writer.WriteVector(state_.dual);
  writer.WriteVector(state_.base_dual);
  writer.WriteVector(state_.base_scores);
  writer.WriteIndices(state_.active);
  writer.WriteVector(state_.residual);
  for (const int64_t value :
       {state_.iterations, state_.next_shrink, state_.next_estimate, state_.stalled_rounds}) {
    writer.WriteInt64(value);
  }
  for (const double value :
       {state_.dual_value, state_.round_violation, state_.expected_gap, state_.precision}) {
    writer.WriteDouble(value);
  }
  writer.WriteBool(state_.single_precision);
  writer.WriteBool(state_.not_psd);
  writer.WriteUint8(static_cast<uint8_t>(state_.stop));
  WriteCertificate(state_.certificate, writer);
  return std::move(writer).Take();
}

absl::Status SmoSolver::RestoreState(const SmoProblem& problem, std::string_view bytes) {
  ByteReader reader(bytes);
  Vector diagonal = reader.ReadVector();
  State state;
  state.dual = reader.ReadVector();
  state.base_dual = reader.ReadVector();
  state.base_scores = reader.ReadVector();
  state.active = reader.ReadIndices();
  state.residual = reader.ReadVector();
  for (int64_t* value :
       {&state.iterations, &state.next_shrink, &state.next_estimate, &state.stalled_rounds}) {
    *value = reader.ReadInt64();
  }
  for (double* value :
       {&state.dual_value, &state.round_violation, &state.expected_gap, &state.precision}) {
    *value = reader.ReadDouble();
  }
  state.single_precision = reader.ReadBool();
  state.not_psd = reader.ReadBool();
  const uint8_t stop = reader.ReadUint8();
  ReadCertificate(reader, state.certificate);
  const Index n = kernel_.size();
  if (!reader.AtEnd() || diagonal.size() != n || state.dual.size() != n ||
      state.base_dual.size() != n || state.base_scores.size() != n ||
      static_cast<Index>(state.active.size()) != state.residual.size() ||
      !IsActiveSet(state.active, n) || !IsStepCount(state.iterations) ||
      !IsStepCount(state.next_shrink) || !IsStepCount(state.next_estimate) ||
      !IsStepCount(state.stalled_rounds) || stop > static_cast<uint8_t>(SmoStop::kPrecision)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the state is damaged or not of a problem of ", n, " samples"));
  }
  state.stop = static_cast<SmoStop>(stop);
  MERCER_RETURN_IF_ERROR(SetProblem(problem));
  diagonal_ = std::move(diagonal);
  std::vector<Index> active = std::move(state.active);
  state_ = std::move(state);
  SetActive(std::move(active));
  return absl::OkStatus();
}

}  // namespace mercer
