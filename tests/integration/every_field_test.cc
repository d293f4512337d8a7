// Every field of every RPC is spoiled in every way: the answer is a documented one, and a refusal changes nothing. Both are
// found by their descriptors, so what is added to the API is tested, or asks for its entry in good_requests.cc.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <regex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "google/rpc/code.pb.h"
#include "server/rpc/method_rules.h"
#include "tests/integration/access_fixture.h"
#include "tests/integration/field_mutations.h"
#include "tests/integration/field_walk_fixture.h"
#include "tests/support/sanitized.h"
#include "tests/support/source_folder.h"
#include "tests/support/thorough.h"

namespace mercer::server {
namespace {

// A sanitized run takes one in so many ways to spoil a request, drawn at random: most kinds of field are spoiled in three ways or six.
constexpr uint32_t kSanitizedShare = 3;

using google::protobuf::Descriptor;
using google::protobuf::MethodDescriptor;
using grpc::StatusCode;

const MethodDescriptor& MethodOf(const std::string& name) {
  const size_t slash = name.find('/');
  const auto* const service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
      "mercer.v1." + name.substr(0, slash));
  return *service->FindMethodByName(name.substr(slash + 1));
}

// The tables of docs/errors.md: code of each reason.
std::map<std::string, std::string> DocumentedReasons() {
  std::ifstream file(SourceFolder() / "docs/errors.md");
  const std::regex row("\\| `([A-Z_]+)` \\| ([A-Z_]+) \\|.*");
  std::map<std::string, std::string> reasons;
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_match(line, match, row)) {
      reasons[match[1]] = match[2];
    }
  }
  return reasons;
}

// What a bad request may be answered with, but for a chunk with another checksum than it says.
const std::set<std::string>& CodesOfBadRequests() {
  static const auto* const codes = new std::set<std::string>{
      "INVALID_ARGUMENT",   "NOT_FOUND", "FAILED_PRECONDITION", "ALREADY_EXISTS", "OUT_OF_RANGE",
      "RESOURCE_EXHAUSTED", "ABORTED"};
  return *codes;
}

// Fields that are right or wrong together: when one that ends like the first is spoiled, one that has the second in its path
// may be named.
struct Couple {
  const char* spoiled;
  const char* named;
};
constexpr Couple kCouples[] = {
    {"model", "page_token"},  // a token is good for the filter of its list alone
    {"labels", "page_token"},
    {"learner", "page_token"},
    {"states", "page_token"},
    {"kinds", "page_token"},
    {"dataset", "rows"},                  // one of the two
    {"dense.columns", "values.columns"},  // as many names as columns
    {"upload_id", "sha256"},              // to resume an upload takes both
    {"target_kind", "class_weights"},     // for classification alone
    {"target_kind", "epsilon"},           // for regression alone
    {"learner.ikl", "target_kind"},       // for classification alone
    {"learner.sparse_multitask_svm", "target_kind"},
    {"learner.svm_rfe", "target_kind"},
    {"weighting", "class_weights.weights"},
    {"kernels.type", "kernels"},  // which parameters it has
    {"kernels.rule", "kernels"},
    {"min_bandwidth", "max_bandwidth"},          // the ends of an interval
    {"infinite_features.family", "bandwidths"},  // for one family alone
};

class EveryFieldTest : public FieldWalkTest, public testing::WithParamInterface<std::string> {
 protected:
  AnyAnswer CallWith(const Messages& messages, const GoodRequest& good) {
    return CallAnyMethod(channel_, method_, messages, std::chrono::seconds(60), good.max_answers);
  }

  Messages Make(const GoodRequest& good) {
    Messages messages = good.make(*this);
    state_ = StoredState();
    return messages;
  }

  void Walk(const GoodRequest& good) {
    Messages messages = Make(good);
    for (size_t position = 0; position < messages.size(); ++position) {
      const MutationOptions options = {good.only_present, good.max_depth, {foreign_token_}};
      for (const FieldMutation& mutation : MutationsOf(*messages[position], options)) {
        if (!kSanitized || IsThorough() || draw_() % kSanitizedShare == 0) {
          Spoil(good, mutation, position, messages);
        }
      }
    }
  }

  // One call. Makes the messages anew when it succeeded.
  void Spoil(const GoodRequest& good, const FieldMutation& mutation, size_t position,
             Messages& messages) {
    const std::shared_ptr<google::protobuf::Message> original = messages[position];
    messages[position].reset(original->New());
    messages[position]->CopyFrom(*original);
    mutation.apply(*messages[position]);
    SCOPED_TRACE(absl::StrCat(mutation.path, " ", mutation.what, " in message ", position));
    const AnyAnswer answer = CallWith(messages, good);
    messages[position] = original;
    if (!answer.status.ok()) {
      ExpectDocumented(answer.status);
      ExpectNamesTheField(answer.status, *original->GetDescriptor(), mutation);
      if (good.after_refusal) {
        good.after_refusal(*this);
      }
    } else if (good.after_success) {
      good.after_success(*this);
    }
    if (!answer.status.ok() || !FindMethodRule(GetParam())->changes) {
      EXPECT_EQ(StoredState(), state_) << answer.status.error_message();
    } else {
      messages = Make(good);
    }
  }

  void ExpectDocumented(const grpc::Status& status) {
    const std::string reason = ReasonOf(status);
    const auto documented = reasons_.find(reason);
    ASSERT_NE(documented, reasons_.end())
        << reason << ": " << status.error_code() << " " << status.error_message();
    google::rpc::Status details;
    ASSERT_TRUE(details.ParseFromString(status.error_details()));
    EXPECT_EQ(google::rpc::Code_Name(static_cast<google::rpc::Code>(details.code())),
              documented->second)
        << reason;
    EXPECT_TRUE(CodesOfBadRequests().count(documented->second) > 0 || reason == "CHUNK_CHECKSUM")
        << reason << ": " << status.error_message();
  }

  void ExpectNamesTheField(const grpc::Status& status, const Descriptor& type,
                           const FieldMutation& mutation) {
    bool named = false;
    std::string all;
    for (const std::string& violation : ViolationsOf(status)) {
      // A key may hold what looks like the end of the field.
      const size_t key_end = violation.rfind("']: ");
      const std::string field = key_end == std::string::npos
                                    ? violation.substr(0, violation.find(": "))
                                    : violation.substr(0, key_end + 2);
      EXPECT_TRUE(IsFieldPath(type, field)) << violation;
      named = named || AreNested(field, mutation.path) || AreCoupled(mutation.path, field);
      absl::StrAppend(&all, violation, "\n");
    }
    EXPECT_TRUE(named || all.empty() || !mutation.in_good) << "named instead: " << all;
  }

  static bool AreCoupled(const std::string& spoiled, const std::string& named) {
    return std::any_of(std::begin(kCouples), std::end(kCouples), [&](const Couple& couple) {
      return absl::EndsWith("." + PlainPath(spoiled), absl::StrCat(".", couple.spoiled)) &&
             absl::StrContains(PlainPath(named), couple.named);
    });
  }

  const MethodDescriptor& method_ = MethodOf(GetParam());
  const std::map<std::string, std::string> reasons_ = DocumentedReasons();
  std::string foreign_token_;
  std::string state_;      // before the next call
  std::minstd_rand draw_;  // the same in every run
};

TEST_P(EveryFieldTest, SpoiledIsAnsweredWithADocumentedErrorThatChangesNothing) {
  const auto good = GoodRequests().find(GetParam());
  ASSERT_NE(good, GoodRequests().end()) << "say in good_requests.cc what a good request is";
  v1::ListDatasetsRequest page;
  page.set_page_size(1);
  foreign_token_ = PageToken(*datasets_, &v1::DatasetService::Stub::ListDatasets, page);
  for (const GoodRequest& request : good->second) {
    const AnyAnswer answer = CallWith(request.make(*this), request);
    ASSERT_TRUE(answer.status.ok()) << "not good: " << answer.status.error_message() << " "
                                    << testing::PrintToString(ViolationsOf(answer.status));
    EXPECT_FALSE(answer.messages.empty());
    if (request.after_success) {
      request.after_success(*this);
    }
    Walk(request);
  }
}

INSTANTIATE_TEST_SUITE_P(Rpcs, EveryFieldTest, testing::ValuesIn(AllMethods()),
                         [](const testing::TestParamInfo<std::string>& method) {
                           std::string name = method.param;
                           name.erase(std::remove(name.begin(), name.end(), '/'), name.end());
                           return name;
                         });

}  // namespace
}  // namespace mercer::server
