#include "core/base/status/errors.h"

#include <gtest/gtest.h>

namespace mercer {
namespace {

TEST(FieldViolationsTest, NamesEveryBadFieldAtOnce) {
  FieldViolations violations;
  EXPECT_TRUE(violations.Check(true, "C", "unused"));
  EXPECT_FALSE(violations.Check(false, "C", "must be > 0, is -1"));
  violations.Add("kernels[3].bandwidth", "must be > 0, is 0");
  const absl::Status status = violations.ToStatus();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "C: must be > 0, is -1; kernels[3].bandwidth: must be > 0, is 0");
  EXPECT_EQ(GetReason(status), "BAD_FIELDS");
  const std::vector<FieldViolation> expected = {{"C", "must be > 0, is -1"},
                                                {"kernels[3].bandwidth", "must be > 0, is 0"}};
  EXPECT_EQ(GetFieldViolations(status), expected);
}

TEST(FieldViolationsTest, WithoutViolationsIsOk) { EXPECT_TRUE(FieldViolations().ToStatus().ok()); }

TEST(FieldViolationsTest, PrefixesInnerViolations) {
  FieldViolations inner;
  inner.Add("bandwidth", "must be > 0");
  FieldViolations outer;
  outer.AddAll("kernels[0]", inner.ToStatus());
  outer.AddAll("target", absl::InvalidArgumentError("no such column"));
  outer.AddAll("fine", absl::OkStatus());
  const std::vector<FieldViolation> expected = {{"kernels[0].bandwidth", "must be > 0"},
                                                {"target", "no such column"}};
  EXPECT_EQ(outer.violations(), expected);
}

TEST(FieldViolationsTest, CountsWhatItDoesNotKeep) {
  FieldViolations violations;
  for (size_t i = 0; i < FieldViolations::kMaxReported + 7; ++i) {
    violations.Add("f", "bad");
  }
  EXPECT_EQ(violations.violations().size(), FieldViolations::kMaxReported);
  EXPECT_NE(violations.ToStatus().message().find("and 7 more"), absl::string_view::npos);
}

TEST(WithReasonTest, CarriesReasonAndMetadataInOrder) {
  const absl::Status status = WithReason(absl::InvalidArgumentError("bad cell"), "BAD_CELL",
                                         {{"row", "17"}, {"column", "age"}});
  EXPECT_EQ(GetReason(status), "BAD_CELL");
  const ErrorMetadata expected = {{"row", "17"}, {"column", "age"}};
  EXPECT_EQ(GetErrorMetadata(status), expected);
}

TEST(WithReasonTest, LeavesOkAlone) {
  const absl::Status status = WithReason(absl::OkStatus(), "X");
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(GetReason(status), "");
}

}  // namespace
}  // namespace mercer
