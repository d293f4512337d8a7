// What "mercer train" sends.
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "tests/client/cpp/cli/command_line_fixture.h"

namespace mercer::client {
namespace {

class TrainCommandTest : public CommandLineTest {
 protected:
  v1::TrainRequest LastTraining() {
    EXPECT_FALSE(server_.state.trainings.empty()) << err_.str();
    return server_.state.trainings.empty() ? v1::TrainRequest() : server_.state.trainings.back();
  }

  void ExpectRequest(const std::string& expected) {
    v1::TrainRequest request = LastTraining();
    request.clear_request_id();
    v1::TrainRequest wanted;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(expected, &wanted));
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(request, wanted))
        << request.DebugString();
  }
};

TEST_F(TrainCommandTest, AZeroThatTheUserTypedIsSent) {
  ASSERT_EQ(Run({"--timeout", "5", "train", "spam", "lp_mkl", "--kernel", "linear", "--gap", "0"}),
            0)
      << err_.str();
  EXPECT_TRUE(LastTraining().stopping().has_relative_gap());
  EXPECT_EQ(LastTraining().stopping().relative_gap(), 0.0);
}

TEST_F(TrainCommandTest, TrainSendsEveryFlag) {
  ASSERT_EQ(Run({"train",
                 "spam",
                 "lp_mkl",
                 "--p",
                 "1.2",
                 "--kernel",
                 "gaussian bandwidths=1..10:3",
                 "--C=10",
                 "--kernel",
                 "linear",
                 "--target",
                 "label",
                 "--hold-out",
                 "0.25",
                 "--scaling",
                 "min-max",
                 "--impute",
                 "--unseen-zeros",
                 "--square-repair",
                 "clip",
                 "--block",
                 "features",
                 "--class-weights",
                 "1=2,-1=0.5",
                 "--seed",
                 "7",
                 "--gap",
                 "1e-4",
                 "--max-iterations",
                 "50",
                 "--time-limit",
                 "1m30s",
                 "--threads",
                 "2",
                 "--priority",
                 "-3",
                 "--model",
                 "m",
                 "--label",
                 "team=a",
                 "--label",
                 "run=b",
                 "--one-vs-one",
                 "--classes"}),
            0)
      << err_.str();
  ExpectRequest(R"(
    data { dataset: "datasets/spam" } target: "label" target_kind: TARGET_KIND_CLASSIFICATION
    coding: CODING_CHOICE_ONE_VS_ONE
    learner { lp_mkl { p: 1.2 c: 10
      kernels { type: KERNEL_TYPE_GAUSSIAN rule: BANDWIDTH_RULE_LOG_SPACED min_bandwidth: 1
                max_bandwidth: 10 count: 3 }
      kernels { type: KERNEL_TYPE_LINEAR } } }
    preprocessing { scaling: SCALING_MIN_MAX imputation: IMPUTATION_MEAN_OR_MOST_FREQUENT
                    unseen_category: UNSEEN_CATEGORY_ALL_ZEROS square_repair: SQUARE_REPAIR_CLIP
                    blocks: "features" }
    validation { hold_out { fraction: 0.25 } }
    class_weights { weighting: CLASS_WEIGHTING_EXPLICIT weights { key: "1" value: 2 }
                    weights { key: "-1" value: 0.5 } }
    seed: 7 threads: 2 priority: -3
    stopping { relative_gap: 1e-4 max_iterations: 50 time_limit { seconds: 90 } }
    labels { key: "team" value: "a" } labels { key: "run" value: "b" } model: "models/m")");
  EXPECT_EQ(out_.str(), "jobs/j1 queued\nWatch it: mercer watch jobs/j1\n");
}

TEST_F(TrainCommandTest, LearnerOptionsMayComeFirst) {
  ASSERT_EQ(
      Run({"train", "--p", "inf", "datasets/d", "--folds", "5", "lp-mkl", "--kernel", "linear",
           "--regression", "--target-scaling", "none", "--class-weights", "balanced"}),
      0)
      << err_.str();
  ExpectRequest(R"(
    data { dataset: "datasets/d" } target_kind: TARGET_KIND_REGRESSION target_scaling: TARGET_SCALING_NONE
    learner { lp_mkl { p: inf kernels { type: KERNEL_TYPE_LINEAR } } } preprocessing {}
    validation { folds { count: 5 } } class_weights { weighting: CLASS_WEIGHTING_BALANCED }
    stopping {})");
}

TEST_F(TrainCommandTest, GivenSplitsHaveNoNumber) {
  ASSERT_EQ(Run({"train", "d", "lp_mkl", "--kernel", "linear", "--hold-out", "split"}), 0)
      << err_.str();
  ExpectRequest(R"(
    data { dataset: "datasets/d" }
    learner { lp_mkl { kernels { type: KERNEL_TYPE_LINEAR } } } preprocessing {}
    validation { hold_out {} } stopping {})");
  ASSERT_EQ(Run({"train", "d", "lp_mkl", "--kernel", "linear", "--folds", "split"}), 0);
  ExpectRequest(R"(
    data { dataset: "datasets/d" }
    learner { lp_mkl { kernels { type: KERNEL_TYPE_LINEAR } } } preprocessing {}
    validation { folds {} } stopping {})");
}

TEST_F(TrainCommandTest, TasksAreAColumnOrNoneOrDataSets) {
  const auto train = [this](std::vector<std::string> tasks) {
    tasks.insert(tasks.begin(), {"train", "d", "lp_mkl", "--kernel", "linear"});
    EXPECT_EQ(Run(tasks), 0) << err_.str();
    return LastTraining();
  };
  EXPECT_FALSE(train({}).has_task());
  EXPECT_EQ(train({"--task", "subject"}).task(), "subject");
  const v1::TrainRequest one = train({"--one-task"});
  EXPECT_TRUE(one.has_task());
  EXPECT_EQ(one.task(), "");
  train({"--with-task", "e", "--with-task", "datasets/f"});
  ExpectRequest(R"(
    data { dataset: "datasets/d" role: DATA_ROLE_TASK }
    data { dataset: "datasets/e" role: DATA_ROLE_TASK }
    data { dataset: "datasets/f" role: DATA_ROLE_TASK }
    learner { lp_mkl { kernels { type: KERNEL_TYPE_LINEAR } } } preprocessing {} stopping {})");
}

TEST_F(TrainCommandTest, SplitsThatAreNoNumbersAreNamed) {
  EXPECT_NE(Run({"train", "d", "lp_mkl", "--kernel", "linear", "--hold-out", "half"}), 0);
  EXPECT_NE(err_.str().find("--hold-out: must be a share"), std::string::npos) << err_.str();
  EXPECT_NE(Run({"train", "d", "lp_mkl", "--kernel", "linear", "--folds", "5.5"}), 0);
  EXPECT_NE(err_.str().find("--folds: must be a number"), std::string::npos) << err_.str();
}

}  // namespace
}  // namespace mercer::client
