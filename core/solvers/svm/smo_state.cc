// Saving and restoring an SmoSolver.
#include "absl/strings/str_cat.h"

#include "core/base/encoding/bytes.h"
#include "core/base/status/status_macros.h"
#include "core/solvers/svm/smo.h"

namespace mercer {

std::string SmoSolver::SaveState() const {
  ByteWriter writer;
  writer.WriteVector(diagonal_);
  WriteFields(state_, writer, kernel_.size());
  return std::move(writer).Take();
}

absl::Status SmoSolver::RestoreState(const SvmProblem& problem, std::string_view bytes,
                                     RunContext& /*context*/) {
  ByteReader reader(bytes);
  Vector diagonal = reader.ReadVector();
  State state;
  const Index n = kernel_.size();
  if (!ReadFields(reader, state, n) || !reader.AtEnd() || diagonal.size() != n) {
    return absl::InvalidArgumentError(
        absl::StrCat("the state is damaged or not of a problem of ", n, " samples"));
  }
  MERCER_RETURN_IF_ERROR(SetProblem(problem));
  diagonal_ = std::move(diagonal);
  std::vector<Index> active = std::move(state.active);
  state_ = std::move(state);
  SetActive(std::move(active));
  return absl::OkStatus();
}

}  // namespace mercer
