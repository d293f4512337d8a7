#include "client/cpp/cli/field_words.h"

#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer::client {
namespace {

TEST(FieldWordsTest, FieldsAreCalledAsTheirFlags) {
  for (const auto& [path, flag] : std::vector<std::pair<std::string, std::string>>{
           {"stopping.relative_gap", "--gap"},
           {"training.stopping.time_limit", "--time-limit"},
           {"time_limit", "--time-limit"},
           {"validation.hold_out.fraction", "--hold-out"},
           {"validation.folds.count", "--folds"},
           {"preprocessing.unseen_category", "--unseen-zeros"},
           {"preprocessing.square_repair", "--square-repair"},
           {"class_weights.weights['spam']", "--class-weights"},
           {"learner.lp_mkl.p", "--p"},
           {"learner.lp_mkl.kernels[1].bandwidths[2]", "--kernel 2 bandwidths[2]"},
           {"learner.svm.kernels[0].normalization.scaling", "--kernel 1 scaling"},
           {"learner.svm.kernels", "--kernel"},
           {"learner.other.kernels[0].bandwidth", "--kernel 1 bandwidth"},
           {"learner.other.options['p']", "--p"},
           {"learner.other.options['kernels_scale']", "--kernels_scale"},
           {"learner.svm.kernels_scale", "--kernels_scale"},
           {"learner.other.name", "LEARNER"},
           {"learner", "learner"},
           {"data[0].dataset", "DATA"},
           {"data[2].dataset", "--with-task"},
           {"target", "--target"},
           {"target_kind", "--regression"},
           {"path.values[3]", "--path"},
           {"labels", "--label"},
           {"request_id", "--request-id"},
           {"header.parts[0].csv.roles", "--role"},
           {"parts[0].csv.delimiter", "--delimiter"},
           {"dataset_id", "--id"},
           {"rows.columns[3].name", "FILE, column 4"},
           {"targets", "targets"},
           {"page_token", "page_token"}}) {
    EXPECT_EQ(FlagOfField(path), flag) << path;
  }
}

TEST(FieldWordsTest, WhatWouldHaveHelpedIsSaidInFlags) {
  const absl::Status missing =
      WithReason(absl::InvalidArgumentError("row 1, column 'b': the value is missing"), "BAD_CELL",
                 {{"row", "1"}, {"column", "b"}, {"remedy", "csv.allow_missing"}});
  EXPECT_EQ(FormatError(missing, &kFlagWords),
            "row 1, column 'b': the value is missing\n"
            "  'data upload --allow-missing' keeps missing cells, which 'train --impute' then "
            "fills in");
  EXPECT_EQ(FormatError(missing),
            "row 1, column 'b': the value is missing\n  remedy: csv.allow_missing");
  const absl::Status newer =
      WithReason(absl::InvalidArgumentError("no"), "BAD_CELL", {{"remedy", "csv.of_tomorrow"}});
  EXPECT_EQ(FormatError(newer, &kFlagWords), "no");
}

TEST(FieldWordsTest, EveryWrongFieldIsNamedInFlags) {
  FieldViolations violations;
  violations.Add("stopping.relative_gap", "must be > 0");
  violations.Add("learner.svm.C", "must be > 0");
  EXPECT_EQ(FormatError(violations.ToStatus(), &kFlagWords),
            "2 fields of the request are wrong:\n  --gap: must be > 0\n  --C: must be > 0");
}

}  // namespace
}  // namespace mercer::client
