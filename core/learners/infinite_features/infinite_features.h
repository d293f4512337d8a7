// Problem      min over groups of features g of a continuous family, weights W_g and biases b of
//                sum_t sum_i c_i l(y(i,t), f_t(x_i)) + lambda sum_g u_g N(W_g)
//                                                    + lambda_shared sum_g u_g N(w_g),
//                f_t = sum_g phi_g' (W_g(:, t) + w_g) + b_t,
//              with one output t per class (or one alone), or per task, whose sum is then over the
//              rows of that task; w a part that all outputs share (left out by default), phi_g the
//              columns of group g divided by their scales, which each task may have of its own, l
//              the squared hinge, logistic, square or hinge loss, N a norm of the block of weights
//              of a group (core/objectives/block_penalty.h), u_g > 0 the weight of the group, 1 by
//              default.
// Source       Rakotomamonjy, Flamary, Yger: Learning with infinitely many features. Machine
//              Learning 91 (2013) 43-66, equation (1); corrected in
//              docs/mathematics/infinite_features.md.
// Notation     lambda_p, lambda_s -> Lambdas; theta_g -> ScaledGroup::parameters; the scale of
//              column j -> ScaledGroup::scales.
// Method       Column generation: candidates are drawn, those that break the conditions of
//              optimality most enter the model, the restricted problem is solved again
//              (core/solvers/group/group_problem.h).
// Guarantees   With the solver newton the objective never rises. After the search one accurate
//              solve; the certificate is about the groups that are listed. That no candidate was
//              found says nothing about those that were not drawn.
// Cost         A round takes one pass over the rows for its candidates and a few passes over the
//              rows times the features in the model. Memory: one number per row and feature, in
//              single precision where these are more than 2 million and the gap asked for is at
//              least 1e-5.
// Verified by  tests/core/learners/infinite_features, and the conformance suite.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"

#include "core/features/feature_rows.h"
#include "core/learners/infinite_features/options.h"
#include "core/learners/infinite_features/search.h"
#include "core/solvers/group/feature_columns.h"
#include "core/solvers/group/group_problem.h"
#include "core/training/contract/resumable_learner.h"

namespace mercer::infinite_features {

LearnerEntry Entry();

// Why the search for features ended. The numbers are those of the metric `features.search_end`.
enum class SearchEnd : uint8_t {
  kSearching = 0,
  // There were `patience` rounds without a candidate that breaks the conditions of optimality.
  kNoViolation = 1,
  kMaxGroups = 2,
  kZeroSlopes = 3,  // the loss is 0, or its slopes are
  kFixed = 4,       // the features were given in advance
  kMaxRounds = 5,
  kMinDecrease = 6,  // a round lowered the objective by too little
};

struct InfiniteFeaturesState {
  Lambdas lambdas;  // resolved in the first round
  Lambdas largest;  // at which no candidate of the first round would have entered
  SearchEnd end = SearchEnd::kSearching;
  std::vector<ScaledGroup> groups;
  GroupPoint start;  // before the first step: weights of the groups to begin with
  int64_t rounds = 0;
  int64_t empty_rounds = 0;
  int64_t candidates = 0;
  int64_t round_iterations = 0;  // of the solver since the last search
  double best_ratio = 0;         // of the last round: dual norm to lambda
  // The last group must lower the objective at least to this; a master that does not was solved too
  // loosely.
  double promised = kInfinity;
  double group_decrease = 0;  // accuracy of the masters between rounds
  double before_round = 0;    // the objective before the last groups entered; 0: none have
  bool stuck = false;         // no further progress in floating point

  static void VisitFields(auto& visit, auto& self, const StateSizes& /*of*/) {
    visit(self.lambdas, self.largest, UpTo(self.end, SearchEnd::kMinDecrease),
          Nested(self.groups, NoSizes()), self.rounds, self.empty_rounds, self.candidates,
          self.round_iterations, self.best_ratio, self.promised, Positive(self.group_decrease),
          self.before_round, self.stuck, self.start.specific, self.start.shared);
    visit.Require([&] { return self.lambdas.specific > 0 && self.lambdas.shared > 0; });
  }
};

class InfiniteFeaturesLearner : public ResumableLearner<InfiniteFeaturesState> {
 public:
  // `family`: Fourier features to draw from in place of those that the options name; null: those.
  explicit InfiniteFeaturesLearner(const InfiniteFeaturesOptions& options,
                                   std::shared_ptr<const FeatureFamily> family = nullptr)
      : ResumableLearner("infinite_features", /*version=*/2),
        options_(options),
        given_family_(std::move(family)) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override;
  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override;

 private:
  absl::Status Begin(const WarmStart* warm_start) override;
  absl::Status Advance(RunContext& context) override;
  StepReport Report() const override;
  void SaveParts(ByteWriter& writer) const override;
  absl::Status LoadParts(ByteReader& reader, RunContext& context) override;
  void TakeOver(const WarmStart& warm_start);
  absl::Status Prepare(RunContext& context);
  absl::Status PrepareFamily(RunContext& context);
  absl::Status BuildColumns(RunContext& context);
  GroupProblem MakeGroupProblem(const Lambdas& lambdas) const;
  Lambdas ResolveLambdas() const;
  using EmptyTables = std::vector<std::unique_ptr<FeatureColumns>>;
  EmptyTables MakeEmptyTables() const;
  absl::StatusOr<std::unique_ptr<GroupSolver>> SolveConstant(const EmptyTables& none,
                                                             RunContext& context) const;
  absl::StatusOr<SearchRound> SearchAtConstant(RunContext& context) const;
  absl::Status BeginSearch(RunContext& context);
  GroupPoint StartWeights() const;
  absl::Status Work(RunContext& context);
  absl::Status Solve(RunContext& context);
  absl::Status Search(RunContext& context);
  absl::Status Climb(SearchRound& found, RunContext& context) const;
  absl::Status Admit(const SearchRound& found, RunContext& context);
  absl::StatusOr<Index> Append(absl::Span<const FoundGroup> found, RunContext& context);
  absl::StatusOr<Index> AppendBatch(absl::Span<const FoundGroup> found, RunContext& context);
  std::optional<ScaledGroup> ScaleGroup(const FoundGroup& found, const std::vector<Matrix>& values,
                                        Index first);
  void EndSearch(SearchEnd end);
  bool LossIsZero() const;
  bool CanGrow() const;
  SearchProblem MakeSearch() const;
  GroupAccuracy WantedAccuracy() const;
  double SolveOperations() const;
  double SearchOperations(int64_t candidates) const;
  double GainOfGroup(const FoundGroup& found, const Vector& squared_norms) const;
  TrainedPoint MakePoint() const;

  // Rows with the features at them: those of all outputs, or of one of several tasks.
  struct Table {
    TaskData task;  // its rows that count
    std::unique_ptr<FeatureRows> rows;
    std::unique_ptr<FeatureColumns> columns;
  };
  Index num_outputs() const { return problem_->num_outputs(); }
  Index num_rows() const;
  // The number of the table that an output has.
  size_t TableOf(Index output) const {
    return tables_.size() > 1 ? static_cast<size_t>(output) : 0;
  }
  // The slopes of the loss by tables, rows x outputs.
  std::vector<Matrix> SlopesOf(const GroupEvaluation& evaluation) const;

  const InfiniteFeaturesOptions options_;
  const std::shared_ptr<const FeatureFamily> given_family_;
  std::shared_ptr<const Loss> loss_;
  BlockNorm norm_;
  // Functions of the problem, the options and the groups.
  FeatureFamilySpec spec_;
  std::shared_ptr<const FeatureFamily> family_;
  std::vector<Table> tables_;
  std::unique_ptr<StoredCandidates> stored_;  // of selection selected, unless they are too many
  std::unique_ptr<GroupSolver> solver_;
};

}  // namespace mercer::infinite_features
