// How labels become outputs and outputs become labels: binary, one-vs-all, one-vs-one, regression.
//
// Classes are sorted: numeric labels by value, others as byte strings. Two classes: the larger is
// positive, f = 0 predicts it. One-vs-all: the largest value wins, ties go to the smaller class.
// One-vs-one: for a pair the smaller class is positive and a value > 0 votes for it, else for the
// other; ties in votes go to the larger sum of signed values, then to the smaller class.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/table/dataset.h"

namespace mercer {

enum class CodingKind : uint8_t { kRegression = 0, kBinary = 1, kOneVsAll = 2, kOneVsOne = 3 };

// What the user asks for; kAuto: regression never, binary for two classes, else one-vs-all.
enum class CodingChoice : uint8_t { kAuto = 0, kOneVsAll = 1, kOneVsOne = 2 };

// An error with reason BAD_LABEL: row `row` (from 0) has no target, and what to do about it.
absl::Status MissingTarget(const RoleColumn& target, Index row);

class OutputCoding {
 public:
  OutputCoding() = default;

  static OutputCoding Regression() { return OutputCoding(); }
  // The coding for the labels of the training rows. Errors: kInvalidArgument (missing label with
  // its row; fewer than two classes, reason ONE_CLASS; more than kMaxClasses); kCancelled.
  static absl::StatusOr<OutputCoding> FromLabels(const RoleColumn& labels,
                                                 const std::vector<Index>& rows,
                                                 CodingChoice choice, const RunContext& context);

  static constexpr size_t kMaxClasses = 1000;

  CodingKind kind() const { return kind_; }
  const std::vector<std::string>& classes() const { return classes_; }
  Index num_outputs() const;
  // The classes (first, second) of output `o` of a one-vs-one coding; first < second, first is
  // positive.
  std::pair<int, int> Pair(Index output) const;
  // The output's name for people: "spam", "3 vs 5", "target".
  std::string OutputName(Index output) const;

  // Class index of each row of `labels`; -1 for labels that the coding does not know. Errors:
  // kCancelled.
  absl::StatusOr<std::vector<int>> Classes(const RoleColumn& labels,
                                           const RunContext& context) const;
  // Class index of each row of a matrix of decision values (rows x outputs).
  std::vector<int> Decide(const ConstMatrixRef& values) const;
  // For one-vs-one: the votes of each row and the sums of its signed values, both rows x classes.
  void Vote(const ConstMatrixRef& values, Matrix* votes, Matrix* margin_sums) const;

  static void VisitFields(auto& visit, auto& self) {
    visit(UpTo(self.kind_, CodingKind::kOneVsOne), self.classes_);
    visit.Require([&] { return self.HasItsClasses(); });
  }

 private:
  // Whether there are as many classes as a coding of this kind has.
  bool HasItsClasses() const;

  CodingKind kind_ = CodingKind::kRegression;
  std::vector<std::string> classes_;
};

}  // namespace mercer
