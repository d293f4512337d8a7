#include "core/training/targets/output_coding.h"

#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/text_kind.h"
#include "core/training/targets/label_names.h"

namespace mercer {
namespace {

absl::Status TooManyClasses(const RoleColumn& labels, size_t count) {
  return WithReason(
      absl::InvalidArgumentError(
          absl::StrCat("target column '", labels.schema.name, "' has ", count, " classes; at most ",
                       OutputCoding::kMaxClasses, " are allowed", WhyTexts(labels.schema))),
      "TOO_MANY_CLASSES", {{"column", labels.schema.name}});
}

absl::Status TooFewClasses(const RoleColumn& labels, const std::vector<std::string>& classes) {
  const std::string only =
      classes.empty() ? "no rows" : absl::StrCat("only the class '", classes[0], "'");
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat("target column '", labels.schema.name, "' has ", only,
                                              " in the training rows; two classes are needed")),
      "ONE_CLASS", {{"column", labels.schema.name}});
}

// The position of the largest value; of equal ones, of the first.
int FirstLargest(const Eigen::Ref<const Eigen::RowVectorXd, 0, Eigen::InnerStride<>>& values) {
  Index best = 0;
  for (Index i = 1; i < values.size(); ++i) {
    if (values(i) > values(best)) {
      best = i;
    }
  }
  return static_cast<int>(best);
}

}  // namespace

absl::Status MissingTarget(const RoleColumn& target, Index row) {
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat(
          "row ", row + 1, ", column '", target.schema.name,
          "': the target is missing; nothing is learned from such rows: upload the data without "
          "them")),
      "BAD_LABEL", {{"row", absl::StrCat(row + 1)}, {"column", target.schema.name}});
}

absl::StatusOr<OutputCoding> OutputCoding::FromLabels(const RoleColumn& labels,
                                                      const std::vector<Index>& rows,
                                                      CodingChoice choice,
                                                      const RunContext& context) {
  for (const Index row : rows) {
    if (std::isnan(labels.values(row))) {
      return MissingTarget(labels, row);
    }
  }
  MERCER_ASSIGN_OR_RETURN(const std::vector<double> values, DifferentValues(labels, rows, context));
  if (values.size() > kMaxClasses) {
    return TooManyClasses(labels, values.size());
  }
  OutputCoding coding;
  MERCER_ASSIGN_OR_RETURN(coding.classes_, SortedLabels(labels.schema, values, context));
  if (values.size() < 2) {
    return TooFewClasses(labels, coding.classes_);
  }
  if (coding.classes_.size() == 2) {
    coding.kind_ = CodingKind::kBinary;
  } else {
    coding.kind_ =
        choice == CodingChoice::kOneVsOne ? CodingKind::kOneVsOne : CodingKind::kOneVsAll;
  }
  return coding;
}

Index OutputCoding::num_outputs() const {
  const auto count = static_cast<Index>(classes_.size());
  switch (kind_) {
    case CodingKind::kRegression:
    case CodingKind::kBinary:
      return 1;
    case CodingKind::kOneVsAll:
      return count;
    case CodingKind::kOneVsOne:
      return count * (count - 1) / 2;
  }
  return 1;
}

// Pairs are numbered (0, 1), (0, 2), ..., (1, 2), ...
std::pair<int, int> OutputCoding::Pair(Index output) const {
  int first = 0;
  auto left = static_cast<Index>(classes_.size()) - 1;  // pairs whose smaller class is `first`
  while (output >= left && left > 0) {
    output -= left;
    --left;
    ++first;
  }
  return {first, first + 1 + static_cast<int>(output)};
}

std::string OutputCoding::OutputName(Index output) const {
  switch (kind_) {
    case CodingKind::kRegression:
      return "target";
    case CodingKind::kBinary:
      return classes_[1];
    case CodingKind::kOneVsAll:
      return classes_[static_cast<size_t>(output)];
    case CodingKind::kOneVsOne: {
      const auto [first, second] = Pair(output);
      return absl::StrCat(classes_[static_cast<size_t>(first)], " vs ",
                          classes_[static_cast<size_t>(second)]);
    }
  }
  return "";
}

absl::StatusOr<std::vector<int>> OutputCoding::Classes(const RoleColumn& labels,
                                                       const RunContext& context) const {
  return LabelPositions(labels, classes_, context);
}

// Binary: a value of at least 0 says the larger label. One against all: the largest value. One
// against one: the most votes, among equals the largest sum of signed values, and then the smaller
// label.
std::vector<int> OutputCoding::Decide(const ConstMatrixRef& values) const {
  std::vector<int> decided;
  if (kind_ == CodingKind::kRegression) {
    return decided;
  }
  decided.resize(static_cast<size_t>(values.rows()));
  Matrix votes;
  Matrix margin_sums;
  if (kind_ == CodingKind::kOneVsOne) {
    Vote(values, &votes, &margin_sums);
  }
  for (Index row = 0; row < values.rows(); ++row) {
    int& decision = decided[static_cast<size_t>(row)];
    if (kind_ == CodingKind::kBinary) {
      decision = values(row, 0) >= 0 ? 1 : 0;
    } else if (kind_ == CodingKind::kOneVsAll) {
      decision = FirstLargest(values.row(row));
    } else {
      decision = 0;
      for (Index c = 1; c < votes.cols(); ++c) {
        const bool more = votes(row, c) > votes(row, decision);
        const bool tie = votes(row, c) == votes(row, decision);
        if (more || (tie && margin_sums(row, c) > margin_sums(row, decision))) {
          decision = static_cast<int>(c);
        }
      }
    }
  }
  return decided;
}

// A value above 0 is a vote for the smaller label of the pair, any other for the larger one.
void OutputCoding::Vote(const ConstMatrixRef& values, Matrix* votes, Matrix* margin_sums) const {
  const auto count = static_cast<Index>(classes_.size());
  votes->setZero(values.rows(), count);
  margin_sums->setZero(values.rows(), count);
  Index output = 0;
  for (Index first = 0; first < count; ++first) {
    for (Index second = first + 1; second < count; ++second, ++output) {
      for (Index row = 0; row < values.rows(); ++row) {
        const double value = values(row, output);
        (*votes)(row, value > 0 ? first : second) += 1;
        (*margin_sums)(row, first) += value;
        (*margin_sums)(row, second) -= value;
      }
    }
  }
}

bool OutputCoding::HasItsClasses() const {
  const size_t count = classes_.size();
  switch (kind_) {
    case CodingKind::kRegression:
      return count == 0;
    case CodingKind::kBinary:
      return count == 2;
    case CodingKind::kOneVsAll:
    case CodingKind::kOneVsOne:
      return count >= 2 && count <= kMaxClasses;
  }
  return false;
}

}  // namespace mercer
