#include "client/cpp/errors.h"

#include <gtest/gtest.h>

#include "tests/client/cpp/fake_server.h"

namespace mercer::client {
namespace {

google::rpc::BadRequest BadFields(const std::vector<std::pair<std::string, std::string>>& fields) {
  google::rpc::BadRequest bad_request;
  for (const auto& [field, description] : fields) {
    auto& violation = *bad_request.add_field_violations();
    violation.set_field(field);
    violation.set_description(description);
  }
  return bad_request;
}

google::rpc::ErrorInfo Info(const std::string& reason,
                            const std::vector<std::pair<std::string, std::string>>& metadata) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  for (const auto& [key, value] : metadata) {
    (*info.mutable_metadata())[key] = value;
  }
  return info;
}

TEST(ErrorsTest, NamesEveryWrongField) {
  const auto info = Info("BAD_FIELDS", {});
  const auto fields = BadFields({{"learner.lp_mkl.p", "must be in [1, inf], is 0.5"},
                                 {"learner.lp_mkl.kernels[3].bandwidth", "must be > 0, is -1"}});
  const absl::Status status = ToAbslStatus(MakeGrpcStatus(
      grpc::StatusCode::INVALID_ARGUMENT, "long text of the server", {&info, &fields}));
  EXPECT_EQ(FormatError(status),
            "2 fields of the request are wrong:\n"
            "  learner.lp_mkl.p: must be in [1, inf], is 0.5\n"
            "  learner.lp_mkl.kernels[3].bandwidth: must be > 0, is -1");
}

TEST(ErrorsTest, OneWrongFieldIsOneLine) {
  const auto fields = BadFields({{"target", "the data set has no column 'lable'"}});
  const absl::Status status =
      ToAbslStatus(MakeGrpcStatus(grpc::StatusCode::INVALID_ARGUMENT, "x", {&fields}));
  EXPECT_EQ(FormatError(status), "target: the data set has no column 'lable'");
}

TEST(ErrorsTest, AddsNamedValuesThatTheMessageLacks) {
  const auto info =
      Info("JOB_TOO_LARGE", {{"estimate_bytes", "9000"}, {"budget_bytes", "4000"}, {"empty", ""}});
  const absl::Status status = ToAbslStatus(MakeGrpcStatus(
      grpc::StatusCode::RESOURCE_EXHAUSTED, "the training needs 9000 bytes", {&info}));
  EXPECT_EQ(FormatError(status), "the training needs 9000 bytes\n  budget_bytes: 4000");
}

TEST(ErrorsTest, KeepsDetailsOfTheServer) {
  const auto info = Info("NO_SUCH_RESOURCE", {{"resource_name", "jobs/x"}});
  google::rpc::ResourceInfo resource;
  resource.set_resource_name("jobs/x");
  const absl::Status status = ToAbslStatus(
      MakeGrpcStatus(grpc::StatusCode::NOT_FOUND, "there is no job 'jobs/x'", {&info, &resource}));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  const ErrorReport report = ReadErrorReport(status);
  EXPECT_EQ(report.reason, "NO_SUCH_RESOURCE");
  EXPECT_EQ(report.resource, "jobs/x");
  EXPECT_EQ(ToRpcStatus(status).details_size(), 2);
}

TEST(ErrorsTest, ErrorsOfTheReadersSayTheSame) {
  const absl::Status status =
      WithReason(absl::InvalidArgumentError("row 3: has 2 cells, the header has 4"), "BAD_ROW",
                 {{"row", "3"}});
  EXPECT_EQ(ReadErrorReport(status).reason, "BAD_ROW");
  EXPECT_EQ(FormatError(status), "row 3: has 2 cells, the header has 4");
}

TEST(ErrorsTest, DamagedDetailsAreLeftOut) {
  const absl::Status status =
      ToAbslStatus(grpc::Status(grpc::StatusCode::INTERNAL, "bug", "\xff\xff garbage"));
  EXPECT_EQ(FormatError(status), "bug");
  EXPECT_EQ(ToRpcStatus(status).code(), 13);
}

google::rpc::Status BadCell(const std::string& message, const std::string& row) {
  google::rpc::ErrorInfo info;
  info.set_reason("BAD_CELL");
  (*info.mutable_metadata())["row"] = row;
  (*info.mutable_metadata())["column"] = "age";
  google::rpc::Status status;
  status.set_code(3);
  status.set_message(message);
  status.add_details()->PackFrom(info);
  return status;
}

TEST(ErrorsTest, RowsOfABatchBecomeRowsOfTheFile) {
  const absl::Status server = ToAbslStatus(BadCell("row 1, column 'age': not a number", "1"));
  const absl::Status shifted = ShiftErrorRow(server, 2000);
  EXPECT_EQ(shifted.message(), "row 2001, column 'age': not a number");
  const ErrorReport report = ReadErrorReport(shifted);
  EXPECT_EQ(report.reason, "BAD_CELL");
  EXPECT_EQ(report.metadata.at("row"), "2001");
  EXPECT_EQ(report.metadata.at("column"), "age");
  EXPECT_EQ(ShiftErrorRow(server, 0), server);

  const absl::Status reader =
      WithReason(absl::InvalidArgumentError("row 3: is blank"), "BAD_ROW", {{"row", "3"}});
  EXPECT_EQ(ShiftErrorRow(reader, 10).message(), "row 13: is blank");
  EXPECT_EQ(GetErrorMetadata(ShiftErrorRow(reader, 10)), (ErrorMetadata{{"row", "13"}}));
  EXPECT_EQ(GetReason(ShiftErrorRow(reader, 10)), "BAD_ROW");
}

TEST(ErrorsTest, OnlyTheRowItselfIsCountedAnew) {
  const absl::Status other_number = ToAbslStatus(BadCell("row 12 is like row 1", "1"));
  EXPECT_EQ(ShiftErrorRow(other_number, 5).message(), "row 6: row 12 is like row 1");
  const absl::Status no_row = absl::InvalidArgumentError("row 1 of nothing");
  EXPECT_EQ(ShiftErrorRow(no_row, 5), no_row);
  EXPECT_TRUE(ShiftErrorRow(absl::OkStatus(), 5).ok());
}

TEST(ErrorsTest, OfManyWrongFieldsTheFirstAreShown) {
  google::rpc::BadRequest bad_request;
  for (int i = 0; i < 30; ++i) {
    auto& field = *bad_request.add_field_violations();
    field.set_field("f" + std::to_string(i));
    field.set_description("wrong");
  }
  google::rpc::Status status;
  status.set_code(3);
  status.add_details()->PackFrom(bad_request);
  const std::string text = FormatError(ToAbslStatus(status));
  EXPECT_EQ(text.find("30 fields of the request are wrong:\n  f0: wrong\n  f1: wrong"), 0u) << text;
  EXPECT_NE(text.find("  f19: wrong\n  and 10 more"), std::string::npos) << text;
  EXPECT_EQ(text.find("f20"), std::string::npos) << text;
}

// The server ends a list that would be too long with a violation without a field.
TEST(ErrorsTest, FieldsThatTheServerLeftOutAreCounted) {
  const auto many = BadFields({{"a", "wrong"}, {"b", "wrong"}, {"", "and 28 more"}});
  const absl::Status status =
      ToAbslStatus(MakeGrpcStatus(grpc::StatusCode::INVALID_ARGUMENT, "x", {&many}));
  EXPECT_EQ(ReadErrorReport(status).fields.size(), 2u);
  EXPECT_EQ(ReadErrorReport(status).more_fields, 28);
  EXPECT_EQ(FormatError(status),
            "30 fields of the request are wrong:\n  a: wrong\n  b: wrong\n  and 28 more");
  const auto one = BadFields({{"a", "wrong"}, {"", "and 1 more"}});
  EXPECT_EQ(
      FormatError(ToAbslStatus(MakeGrpcStatus(grpc::StatusCode::INVALID_ARGUMENT, "x", {&one}))),
      "2 fields of the request are wrong:\n  a: wrong\n  and 1 more");
}

TEST(ErrorsTest, UnknownCodesAreUnknown) {
  google::rpc::Status status;
  status.set_code(99);
  status.set_message("strange");
  EXPECT_EQ(ToAbslStatus(status).code(), absl::StatusCode::kUnknown);
}

}  // namespace
}  // namespace mercer::client
