#include "server/translation/error_details.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "google/rpc/code.pb.h"
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

// Every literal of two or more capital words in core and server is a reason or another word that
// clients see, or the name of an environment variable.
std::set<std::string> WordsInSources() {
  const std::regex literal("\"([A-Z][A-Z0-9]*(_[A-Z0-9]+)+)\"");
  std::set<std::string> words = {"DRAINING"};
  for (const char* folder : {"core", "server"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(SourceFolder() / folder)) {
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") {
        continue;
      }
      const std::string text =
          std::regex_replace(ReadFile(entry.path()), std::regex("//[^\n]*"), "");
      for (std::sregex_iterator match(text.begin(), text.end(), literal), end; match != end;
           ++match) {
        words.insert((*match)[1]);
      }
    }
  }
  words.erase("OPENBLAS_CORETYPE");
  words.erase("GLIBC_TUNABLES");
  return words;
}

// Every word is once in the tables of docs/errors.md, where codes have none: those are the rest.
TEST(ErrorCatalogueTest, EnumHasTheReasonsOfTheDocumentation) {
  std::set<std::string> documented;
  for (int code = 1; code < google::rpc::Code_ARRAYSIZE; ++code) {
    documented.insert(google::rpc::Code_Name(static_cast<google::rpc::Code>(code)));
  }
  const std::string catalogue = ReadFile(SourceFolder() / "docs/errors.md");
  const std::regex row("\n\\| `([A-Z0-9_]+)` \\|");
  for (std::sregex_iterator match(catalogue.begin(), catalogue.end(), row), end; match != end;
       ++match) {
    documented.insert((*match)[1]);
  }
  std::set<std::string> words;
  for (int i = 1; i < v1::Reason_descriptor()->value_count(); ++i) {
    const std::string word = v1::Reason_descriptor()->value(i)->name().substr(7);
    EXPECT_EQ(ReasonNumber(word), v1::Reason_descriptor()->value(i)->number());
    EXPECT_NE(catalogue.find("`" + word + "`"), std::string::npos) << word;
    words.insert(word);
  }
  EXPECT_EQ(words, documented) << "docs/errors.md and reason.proto";
  EXPECT_EQ(ReasonNumber("NEVER_HEARD_OF"), v1::REASON_UNSPECIFIED);
}

TEST(ErrorCatalogueTest, ListsEveryReason) {
  const std::string catalogue = ReadFile(SourceFolder() / "docs/errors.md");
  for (const std::string& word : WordsInSources()) {
    EXPECT_NE(catalogue.find("`" + word + "`"), std::string::npos)
        << "docs/errors.md does not explain " << word;
    EXPECT_LE(word.size(), 63u) << word;
  }
}

}  // namespace
}  // namespace mercer::server
