#include "server/gateway/message_json.h"

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "mercer/v1/training.pb.h"

namespace mercer::gateway {
namespace {

std::string ViolationOf(const std::string& text) {
  v1::TrainRequest request;
  const std::vector<FieldViolation> violations = GetFieldViolations(ReadJson(text, request));
  return violations.size() == 1 ? violations[0].field + ": " + violations[0].description : "";
}

TEST(MessageJsonTest, WhereAnObjectBelongsItsFormIsSaid) {
  EXPECT_EQ(ViolationOf(R"({"learner": "svm"})"),
            R"(learner: must be an object (Learner), such as {"svm": {}})");
  EXPECT_EQ(ViolationOf(R"({"learner": "forest"})"), "learner: must be an object (Learner)");
  EXPECT_EQ(ViolationOf(R"({"learner": {"svm": {"kernels": [3]}}})"),
            "learner.svm.kernels[0]: must be an object (KernelGrid)");
}

TEST(MessageJsonTest, ListsObjectsAndChoicesInTheWrongPlaceAreToldByTheirFields) {
  EXPECT_EQ(ViolationOf(R"({"learner": []})"), "learner: must not be a list");
  EXPECT_EQ(ViolationOf(R"({"seed": {}})"), "seed: must not be an object");
  EXPECT_EQ(ViolationOf(R"({"labels": ["a"]})"), "labels: must be an object, not a list");
  EXPECT_EQ(ViolationOf(R"({"learner": {"lpMkl": {}, "svm": {}}})"),
            "learner.svm: is set beside another field, and only one of them may be");
}

// A name of its own in JSON, and that of the field, as with all fields.
TEST(MessageJsonTest, OptionCHasTheNameOfThePapers) {
  for (const std::string name : {"C", "c"}) {
    v1::TrainRequest request;
    ASSERT_TRUE(ReadJson(R"({"learner": {"svm": {")" + name + R"(": 2.5}}})", request).ok());
    EXPECT_EQ(request.learner().svm().c(), 2.5);
    EXPECT_EQ(WriteJson(request).value(), R"({"learner":{"svm":{"C":2.5}}})");
  }
}

TEST(MessageJsonTest, OtherMistakesAreToldByTheirFields) {
  EXPECT_EQ(ViolationOf(R"({"learner": {"svm": {"x": 1}}})"), "learner.svm.x: unknown field");
  EXPECT_EQ(ViolationOf(R"({"learner": {"svm": {"C": "much"}}})").find("learner.svm.C: "), 0U);
  EXPECT_EQ(GetReason([] {
              v1::TrainRequest request;
              return ReadJson("{", request);
            }()),
            "BAD_JSON");
}

}  // namespace
}  // namespace mercer::gateway
