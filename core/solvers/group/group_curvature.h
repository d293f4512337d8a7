// Second derivatives of the risk of a restricted master at its scores: for each task Phi'D Phi,
// Phi'D 1 and 1'D 1, with D the diagonal matrix of the loss's curvatures. Where curvatures are
// constant between jumps (square and squared hinge loss) the matrices are brought up to date by the
// rows whose curvature changed, and grow by the columns that were appended.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"

#include "core/base/encoding/bytes.h"
#include "core/solvers/group/group_problem.h"

namespace mercer {

class GroupCurvature {
 public:
  // Forgets everything.
  void Clear() { grams_.clear(); }
  // Takes the curvatures to the scores of `evaluation`; `rows_used` says whether any row of the
  // columns was read. Errors of this and the next: kCancelled, which changes nothing.
  absl::Status Update(const GroupProblem& problem, const GroupEvaluation& evaluation,
                      bool* rows_used, RunContext& context);
  // Extends the matrices by the columns from `known` on, at the current curvatures; does nothing
  // when there are none.
  absl::Status Extend(const GroupProblem& problem, Index known, RunContext& context);

  // The second derivatives of the risk of each task by its weights, d x d, with the bias minimised
  // out when there is one. Tasks that have the same share them.
  std::vector<std::shared_ptr<const Matrix>> Hessians(const GroupProblem& problem) const;
  // The sums Phi'D 1 and 1'D 1 of a task, by which its bias is minimised out.
  const Vector& column_sums(Index task) const { return GramOf(task).column_sums; }
  double weight_sum(Index task) const { return GramOf(task).weight_sum; }

  void Save(const GroupProblem& problem, ByteWriter& writer) const;
  bool Load(const GroupProblem& problem, ByteReader& reader);

 private:
  struct Gram {
    Index task = 0;      // the first that it belongs to
    Vector curvatures;   // D
    Matrix products;     // Phi' D Phi: the lower triangle
    Vector column_sums;  // Phi' D 1
    double weight_sum = 0;
    Index rows_since_rebuilt = 0;
  };

  const Gram& GramOf(Index task) const { return grams_[gram_of_task_[static_cast<size_t>(task)]]; }
  bool IsKnown() const;
  void AssignTasks(const GroupProblem& problem);
  absl::Status UpdateGram(const GroupProblem& problem, const Vector& scores, Gram& gram,
                          bool* rows_used, RunContext& context) const;

  std::vector<Gram> grams_;
  std::vector<size_t> gram_of_task_;
};

}  // namespace mercer
