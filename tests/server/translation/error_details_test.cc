#include "server/translation/error_details.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "google/rpc/error_details.pb.h"
#include "tests/support/source_folder.h"

namespace mercer::server {
namespace {

template <typename Detail>
std::vector<Detail> DetailsOf(const google::rpc::Status& status) {
  std::vector<Detail> details;
  for (const google::protobuf::Any& any : status.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) {
      details.push_back(detail);
    }
  }
  return details;
}

TEST(ErrorDetailsTest, FieldViolationsBecomeBadRequest) {
  FieldViolations violations;
  violations.Add("a.b[3]", "must be > 0, is -1");
  violations.Add("c", "is missing");
  const google::rpc::Status status = ToRpcStatus(violations.ToStatus());
  EXPECT_EQ(status.code(), 3);
  const auto bad_requests = DetailsOf<google::rpc::BadRequest>(status);
  ASSERT_EQ(bad_requests.size(), 1u);
  ASSERT_EQ(bad_requests[0].field_violations_size(), 2);
  EXPECT_EQ(bad_requests[0].field_violations(0).field(), "a.b[3]");
  EXPECT_EQ(bad_requests[0].field_violations(0).description(), "must be > 0, is -1");
  const auto infos = DetailsOf<google::rpc::ErrorInfo>(status);
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_EQ(infos[0].reason(), "BAD_FIELDS");
  EXPECT_EQ(infos[0].domain(), "mercer");
}

TEST(ErrorDetailsTest, ResourceAndPreconditionAreNamed) {
  const google::rpc::Status status =
      ToRpcStatus(WithReason(absl::FailedPreconditionError("the job has ended"), "JOB_IS_FINAL",
                             {{"resource_type", "job"}, {"resource_name", "jobs/7"}}));
  ASSERT_EQ(DetailsOf<google::rpc::ResourceInfo>(status).size(), 1u);
  EXPECT_EQ(DetailsOf<google::rpc::ResourceInfo>(status)[0].resource_name(), "jobs/7");
  ASSERT_EQ(DetailsOf<google::rpc::PreconditionFailure>(status).size(), 1u);
  EXPECT_EQ(DetailsOf<google::rpc::PreconditionFailure>(status)[0].violations(0).type(),
            "JOB_IS_FINAL");
}

TEST(ErrorDetailsTest, UnavailableSaysWhenToRetry) {
  const auto retry =
      DetailsOf<google::rpc::RetryInfo>(ToRpcStatus(absl::UnavailableError("later")));
  ASSERT_EQ(retry.size(), 1u);
  EXPECT_GT(retry[0].retry_delay().seconds(), 0);
  const auto later = DetailsOf<google::rpc::RetryInfo>(
      ToRpcStatus(WithReason(absl::ResourceExhaustedError("full"), "DISK_NEARLY_FULL")));
  ASSERT_EQ(later.size(), 1u);
  EXPECT_GT(later[0].retry_delay().seconds(), retry[0].retry_delay().seconds());
}

TEST(ErrorDetailsTest, QuotaSaysWhenToRetry) {
  const absl::Status refused = WithReason(absl::ResourceExhaustedError("too many jobs"),
                                          "QUOTA_EXCEEDED", {{"limit", "3"}, {"current", "3"}});
  const auto retry = DetailsOf<google::rpc::RetryInfo>(ToRpcStatus(refused));
  ASSERT_EQ(retry.size(), 1u);
  EXPECT_EQ(retry[0].retry_delay().seconds(), 30);
  EXPECT_TRUE(
      DetailsOf<google::rpc::RetryInfo>(ToRpcStatus(absl::ResourceExhaustedError("full"))).empty());
}

TEST(ErrorDetailsTest, InternalErrorsTellNothing) {
  const google::rpc::Status status =
      ToRpcStatus(WithReason(absl::InternalError("row 7: secret"), "BUG", {{"row", "secret"}}));
  EXPECT_THAT(status.ShortDebugString(), testing::Not(testing::HasSubstr("secret")));
}

TEST(ErrorDetailsTest, OkHasNoDetails) {
  EXPECT_EQ(ToRpcStatus(absl::OkStatus()).ByteSizeLong(), 0u);
}

// What clients with the usual 8 KiB of headers see of it: base64 of the details, and the message.
size_t HeaderBytes(const google::rpc::Status& status) {
  return HeaderMessage(status.message()).size() + (status.ByteSizeLong() + 2) / 3 * 4;
}

TEST(ErrorSizeTest, ManyViolationsAreCutAndTheRestIsCounted) {
  FieldViolations violations;
  for (int i = 0; i < 100; ++i) {
    violations.Add("learner.lp_mkl.kernels[" + std::to_string(i) + "].bandwidth",
                   "must be > 0, is " + std::string(1000, '9'));
  }
  const google::rpc::Status status = ToRpcStatus(violations.ToStatus());
  EXPECT_LE(status.ByteSizeLong(), kMaxErrorBytes);
  EXPECT_LE(status.message().size(), kMaxErrorMessageBytes);
  const auto details = DetailsOf<google::rpc::BadRequest>(status);
  ASSERT_EQ(details.size(), 1u);
  const auto& fields = details[0].field_violations();
  ASSERT_GT(fields.size(), 5);
  for (const auto& field : fields) {
    EXPECT_LE(field.description().size(), kMaxErrorDescriptionBytes);
  }
  EXPECT_EQ(fields[0].field(), "learner.lp_mkl.kernels[0].bandwidth");
  EXPECT_EQ(fields[fields.size() - 1].description(),
            "and " + std::to_string(100 - (fields.size() - 1)) + " more");
}

TEST(ErrorSizeTest, WhatHelpsIsNotCutOffALoneViolation) {
  const std::string description = "is " + std::string(400, '9') + "; write it without the comma";
  FieldViolations violations;
  violations.Add("target", description);
  const auto alone = DetailsOf<google::rpc::BadRequest>(ToRpcStatus(violations.ToStatus()));
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].field_violations(0).description(), description);
  violations.Add("learner", "is missing");
  const auto both = DetailsOf<google::rpc::BadRequest>(ToRpcStatus(violations.ToStatus()));
  EXPECT_LE(both[0].field_violations(0).description().size(), kMaxErrorDescriptionBytes);
}

TEST(ErrorSizeTest, ViolationsThatFitAreAllThere) {
  FieldViolations violations;
  for (int i = 0; i < 30; ++i) {
    violations.Add("data[" + std::to_string(i) + "]", "is missing");
  }
  const auto details = DetailsOf<google::rpc::BadRequest>(ToRpcStatus(violations.ToStatus()));
  ASSERT_EQ(details.size(), 1u);
  EXPECT_EQ(details[0].field_violations_size(), 30);
  EXPECT_EQ(details[0].field_violations(29).field(), "data[29]");
}

// Every kind of detail, every text as long as can be, and of letters that take three bytes each.
TEST(ErrorSizeTest, LongestErrorFitsIntoTheHeaders) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) {
    text += "\xE2\x82\xAC";
  }
  FieldViolations violations;
  for (int i = 0; i < 100; ++i) {
    violations.Add(text, text);
  }
  absl::Status worst = violations.ToStatus();
  ErrorMetadata metadata = {{"resource_type", text}, {"resource_name", text}};
  for (int i = 0; i < 100; ++i) {
    metadata.emplace_back("key" + std::to_string(i), text);
  }
  for (const absl::Status& status :
       {worst, absl::FailedPreconditionError(text), absl::UnavailableError(text)}) {
    const google::rpc::Status rpc = ToRpcStatus(WithReason(status, "BAD_FIELDS", metadata));
    EXPECT_LE(rpc.ByteSizeLong(), kMaxErrorBytes);
    EXPECT_LE(HeaderBytes(rpc), 7 * 1024u);
    // Strings of protobuf must be UTF-8: what was cut in the middle of a letter is not parsed.
    google::rpc::Status parsed;
    ASSERT_TRUE(parsed.ParseFromString(rpc.SerializeAsString()));
    ASSERT_EQ(DetailsOf<google::rpc::ErrorInfo>(parsed).size(), 1u);
    EXPECT_EQ(
        DetailsOf<google::rpc::ErrorInfo>(parsed)[0].metadata().at("resource_name").substr(0, 3),
        "\xE2\x82\xAC");
  }
}

TEST(ErrorSizeTest, HeaderOfTheMessageIsMeasuredAsItTravels) {
  EXPECT_EQ(HeaderMessage("plain"), "plain");
  EXPECT_EQ(HeaderMessage(std::string(5000, 'a')).size(), kMaxErrorMessageBytes);
  const std::string percent = HeaderMessage(std::string(5000, '%'));
  EXPECT_LE(percent.size(), 400u);
  EXPECT_GE(percent.size(), 200u);
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// All matches of the first group of `pattern`.
std::set<std::string> WordsIn(const std::string& text, const char* pattern) {
  const std::regex word(pattern);
  std::set<std::string> words;
  for (std::sregex_iterator match(text.begin(), text.end(), word), end; match != end; ++match) {
    words.insert((*match)[1]);
  }
  return words;
}

// Every literal of capital words in core and server.
std::set<std::string> WordsInSources() {
  std::set<std::string> words;
  for (const char* folder : {"core", "server"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(SourceFolder() / folder)) {
      if (entry.path().extension() == ".cc" || entry.path().extension() == ".h") {
        words.merge(WordsIn(std::regex_replace(ReadFile(entry.path()), std::regex("//[^\n]*"), ""),
                            "\"([A-Z][A-Z0-9_]*)\""));
      }
    }
  }
  return words;
}

std::set<std::string> ReasonsOfTheApi() {
  std::set<std::string> words;
  for (int i = 1; i < v1::Reason_descriptor()->value_count(); ++i) {
    words.insert(v1::Reason_descriptor()->value(i)->name().substr(strlen("REASON_")));
  }
  return words;
}

std::set<std::string> NamesOfCodes() {
  std::set<std::string> names;
  for (int code = 1; code <= static_cast<int>(absl::StatusCode::kUnauthenticated); ++code) {
    names.insert(absl::StatusCodeToString(static_cast<absl::StatusCode>(code)));
  }
  return names;
}

TEST(ErrorCatalogueTest, ThePageHasTheReasonsOfTheApi) {
  const std::string page = ReadFile(SourceFolder() / "docs/errors.md");
  std::set<std::string> words = WordsIn(page, "\n\\| `([A-Z0-9_]+)` \\|");
  const size_t codes = page.find("\n## Codes\n");
  ASSERT_NE(codes, std::string::npos);
  words.merge(WordsIn(page.substr(codes, page.find("\n## ", codes + 1) - codes), "`([A-Z_]+)`"));
  EXPECT_EQ(words, ReasonsOfTheApi());
}

// What has two or more capital words in the sources is a reason, or another word that clients see, or part of a name.
TEST(ErrorCatalogueTest, TheServerSaysTheReasonsOfTheApi) {
  const std::set<std::string> reasons = ReasonsOfTheApi();
  const std::set<std::string> said = WordsInSources();
  const std::string page = ReadFile(SourceFolder() / "docs/errors.md");
  const std::set<std::string> others = {"OPENBLAS_CORETYPE", "GLIBC_TUNABLES", "JOB_STATE_",
                                        "JOB_KIND_", "REASON_"};
  for (const std::string& word : said) {
    if (word.find('_') != std::string::npos && !reasons.contains(word) && !others.contains(word)) {
      EXPECT_NE(page.find("`" + word + "`"), std::string::npos)
          << word << " is in no list: reason.proto and docs/errors.md have the reasons";
    }
    EXPECT_LE(word.size(), 63u) << word;
  }
  const std::set<std::string> codes = NamesOfCodes();
  for (const std::string& word : reasons) {
    EXPECT_TRUE(said.contains(word) || codes.contains(word)) << "nobody says " << word;
  }
}

TEST(ErrorCatalogueTest, EveryErrorHasAReasonWithANumber) {
  for (const std::string& name : NamesOfCodes()) {
    EXPECT_NE(ReasonNumber(name), v1::REASON_UNSPECIFIED) << name;
  }
  EXPECT_EQ(ReasonOf(absl::DataLossError("gone")), "DATA_LOSS");
  EXPECT_EQ(ReasonOf(WithReason(absl::DataLossError("gone"), "BLOB_MISSING")), "BLOB_MISSING");
  EXPECT_EQ(ReasonNumber("BLOB_MISSING"), v1::REASON_BLOB_MISSING);
  EXPECT_EQ(ReasonNumber(""), v1::REASON_UNSPECIFIED);
  EXPECT_EQ(ReasonNumber("OF_A_LATER_VERSION"), v1::REASON_UNSPECIFIED);
}

}  // namespace
}  // namespace mercer::server
