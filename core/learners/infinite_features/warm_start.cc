// What is taken over from a solution with other options.
#include <algorithm>

#include "core/learners/infinite_features/infinite_features.h"

namespace mercer::infinite_features {
namespace {

// The arrays of a witness.
struct Listed {
  const Matrix* parameters;
  const Matrix* scales;
  const Matrix* specific;
  const Matrix* shared;

  explicit Listed(const Witness& witness)
      : parameters(witness.FindArray("parameters")),
        scales(witness.FindArray("scales")),
        specific(witness.FindArray("specific")),
        shared(witness.FindArray("shared")) {}

  bool Fits(Index outputs, Index tables) const {
    if (parameters == nullptr || scales == nullptr || specific == nullptr || shared == nullptr) {
      return false;
    }
    return parameters->rows() > 0 && scales->rows() % parameters->rows() == 0 &&
           scales->cols() == tables && specific->rows() == scales->rows() &&
           specific->cols() == outputs && shared->size() == scales->rows() && shared->cols() == 1;
  }
};

bool SameRows(const std::vector<TaskData>& before, const std::vector<TaskData>& now) {
  return std::equal(before.begin(), before.end(), now.begin(), now.end(),
                    [](const TaskData& a, const TaskData& b) {
                      return a.inputs == b.inputs && a.rows == b.rows && a.costs == b.costs;
                    });
}

}  // namespace

// The features that a solution on the same rows has weights for, as many as there is room for. On
// other rows the scales of the columns would differ; features that are given in advance enter
// anyway; and filters may lie outside of the range that is searched now.
void InfiniteFeaturesLearner::TakeOver(const WarmStart& warm_start) {
  const Index outputs = num_outputs();
  const auto tables = static_cast<Index>(tables_.size());
  const Listed listed(warm_start.point->witness);
  if (options_.selection == SelectionChoice::kFixed || options_.family == FamilyChoice::kGabor ||
      !SameRows(warm_start.problem->tasks, problem_->tasks) || !listed.Fits(outputs, tables)) {
    return;
  }
  const Index columns = listed.scales->rows() / listed.parameters->rows();
  std::vector<Index> kept;
  for (Index g = 0; g < listed.parameters->rows(); ++g) {
    const bool active = (listed.specific->middleRows(g * columns, columns).array() != 0).any() ||
                        (listed.shared->middleRows(g * columns, columns).array() != 0).any();
    if (active && static_cast<int64_t>(kept.size()) < options_.max_groups) {
      kept.push_back(g);
    }
  }
  state_.start = GroupPoint::Zero(static_cast<Index>(kept.size()) * columns, outputs);
  for (const Index g : kept) {
    const auto to = static_cast<Index>(state_.groups.size()) * columns;
    state_.start.specific.middleRows(to, columns) =
        listed.specific->middleRows(g * columns, columns);
    state_.start.shared.segment(to, columns) = listed.shared->col(0).segment(g * columns, columns);
    const Vector parameters = listed.parameters->row(g).transpose();
    state_.groups.push_back({{parameters.begin(), parameters.end()},
                             {},
                             listed.scales->middleRows(g * columns, columns)});
  }
}

}  // namespace mercer::infinite_features
