#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "client/cpp/cli/run.h"
#include "tests/client/cpp/cli/command_line_fixture.h"

namespace mercer::client {
namespace {

TEST_F(CommandLineTest, HealthSaysWhetherTheServerTakesCalls) {
  EXPECT_EQ(Run({"health"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), ::testing::HasSubstr("is serving"));
  EXPECT_EQ(Run({"health", "--json"}), 0);
  EXPECT_EQ(out_.str(), "{\"status\":\"SERVING\"}\n");
  server_.SetServing(false);
  EXPECT_EQ(Run({"health"}), 6);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), ::testing::HasSubstr("not serving"));
}

TEST_F(CommandLineTest, ServerSaysWhatItIsAndTakes) {
  EXPECT_EQ(Run({"server"}), 0) << err_.str();
  for (const char* line :
       {"version     9.8.7\n", "tokens      not needed\n", "jobs        3 at a time",
        "message     up to 64.0 MiB\n", "learners    lp_mkl\n"}) {
    EXPECT_THAT(out_.str(), ::testing::HasSubstr(line));
  }
  EXPECT_EQ(Run({"server", "--json"}), 0);
  EXPECT_THAT(out_.str(), ::testing::HasSubstr("\"version\":\"9.8.7\""));
}

TEST_F(CommandLineTest, AWordTrainAmongOtherArgumentsIsNoCommand) {
  EXPECT_EQ(Run({"data", "upload", "missing.csv", "--id", "train", "--bogus-flag", "1"}), 2);
  EXPECT_EQ(Run({"data", "upload", "missing.csv", "--id", "other", "--bogus-flag", "1"}), 2);
}

TEST_F(CommandLineTest, AnEvaluationNamesTheTaskOfAllRows) {
  EXPECT_EQ(Run({"evaluate", "m", "d0"}), 0) << err_.str();
  EXPECT_EQ(Run({"evaluate", "m", "d0", "--task", "ann"}), 0) << err_.str();
  ASSERT_EQ(server_.state.evaluations.size(), 2U);
  EXPECT_EQ(server_.state.evaluations[0].task(), "");
  EXPECT_EQ(server_.state.evaluations[1].task(), "ann");
}

TEST_F(CommandLineTest, AnEvaluationIsLimitedInTime) {
  EXPECT_EQ(Run({"evaluate", "m", "d0", "--time-limit", "1m30s"}), 0) << err_.str();
  EXPECT_EQ(Run({"evaluate", "m", "d0", "--time-limit", "soon"}), 3);
  EXPECT_THAT(err_.str(), ::testing::HasSubstr("--time-limit: must be seconds"));
  EXPECT_EQ(Run({"predict", "m", "file.csv", "--time-limit", "5"}), 3);
  EXPECT_THAT(err_.str(), ::testing::HasSubstr("--time-limit: is for --into"));
  ASSERT_EQ(server_.state.evaluations.size(), 1U);
  EXPECT_EQ(server_.state.evaluations[0].time_limit().seconds(), 90);
}

TEST_F(CommandLineTest, MistakesInOptionsAreAllNamed) {
  EXPECT_EQ(Run({"train", "d", "lp_mkl", "--kernel", "linear", "--gamma", "1", "--p", "x"}), 3);
  EXPECT_EQ(err_.str(),
            "error: 2 fields of the request are wrong:\n"
            "  --gamma: neither an option of 'mercer train' nor of lp_mkl, which has --p, --C, "
            "--epsilon, --outer_loop; kernels have their parameters in --kernel, as --kernel "
            "'gaussian bandwidth=1'\n"
            "  --p: must be a number, is 'x'; allowed: [1, inf]\n");
  EXPECT_EQ(Run({"train", "d", "nothing"}), 4);
  EXPECT_TRUE(server_.state.trainings.empty());
}

TEST_F(CommandLineTest, KernelsMayBeLeftToTheServer) {
  EXPECT_EQ(Run({"train", "d", "lp_mkl"}), 0) << err_.str();
  ASSERT_EQ(server_.state.trainings.size(), 1U);
  EXPECT_TRUE(server_.state.trainings[0].learner().lp_mkl().kernels().empty());
}

TEST_F(CommandLineTest, ErrorsOfTheServerAreReadable) {
  google::rpc::BadRequest bad_request;
  bad_request.add_field_violations()->set_field("learner.lp_mkl.p");
  bad_request.mutable_field_violations(0)->set_description("must be in [1, inf], is 0.5");
  server_.state.train_status =
      MakeGrpcStatus(grpc::StatusCode::INVALID_ARGUMENT, "BAD", {&bad_request});
  const std::vector<std::string> train = {"train", "d", "lp_mkl", "--kernel", "linear"};
  EXPECT_EQ(Run(train), 3);
  EXPECT_EQ(err_.str(), "error: --p: must be in [1, inf], is 0.5\n");
  std::vector<std::string> json = train;
  json.push_back("--json");
  EXPECT_EQ(Run(json), 3);
  EXPECT_EQ(err_.str().find("{\"code\":3,\"message\":\"BAD\",\"details\":[{"), 0u) << err_.str();
}

TEST_F(CommandLineTest, WatchingEndsWithTheJob) {
  EXPECT_EQ(Run({"train", "d", "lp_mkl", "--kernel", "linear", "--watch"}), 0) << err_.str();
  EXPECT_NE(out_.str().find("[5]   train: iteration 0"), std::string::npos) << out_.str();
  server_.state.final_state = v1::JOB_STATE_FAILED;
  EXPECT_EQ(Run({"watch", "j1"}), 1);
  EXPECT_NE(err_.str().find("error: jobs/j1 failed: only one class"), std::string::npos)
      << err_.str();
  server_.state.final_state = v1::JOB_STATE_CANCELLED;
  EXPECT_EQ(Run({"watch", "j1"}), 7);
  EXPECT_EQ(Run({"watch", "none"}), 4);
}

TEST_F(CommandLineTest, ADryRunSaysWhatTheTrainingWouldCost) {
  EXPECT_EQ(Run({"train", "d", "lp_mkl", "--kernel", "linear", "--C", "10", "--dry-run"}), 0)
      << err_.str();
  EXPECT_EQ(out_.str(),
            "time    about 3 min 05 s\n"
            "memory  at most 3.0 MiB of 1.0 GiB\n");
  ASSERT_EQ(server_.state.trainings.size(), 1u);
  EXPECT_EQ(server_.state.trainings[0].learner().lp_mkl().c(), 10);
  EXPECT_NE(Run({"train", "d", "lp_mkl", "--dry-run", "--watch"}), 0);
  EXPECT_EQ(server_.state.trainings.size(), 1u);
}

TEST_F(CommandLineTest, ADryRunNamesWhatTakesLessMemoryWhereATrainingIsTooLarge) {
  server_.state.fits = false;
  EXPECT_EQ(Run({"train", "d", "lp_mkl", "--kernel", "linear", "--dry-run"}), 0);
  EXPECT_NE(out_.str().find("refuse the job;\n        less is taken by lp_mkl with approximation"),
            std::string::npos)
      << out_.str();
}

TEST_F(CommandLineTest, JobsAreWatchedLineByLineWhereThereIsNoTerminal) {
  server_.state.watch_ends = {grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining")};
  EXPECT_NE(
      Run({"jobs", "--watch", "--state", "running", "--kind", "prediction", "--label", "team=red"}),
      0);
  // The second stream goes on behind the first.
  EXPECT_EQ(out_.str(), "jobs/old  succeeded\njobs/new  running\n");
  ASSERT_EQ(server_.state.job_watches.size(), 2u);
  EXPECT_EQ(server_.state.job_watches[1].kinds(0), v1::JOB_KIND_PREDICTION);
  EXPECT_EQ(server_.state.job_watches[1].labels().at("team"), "red");
  Run({"jobs", "--watch", "--json"});
  EXPECT_NE(out_.str().find("\"existingSent\":true"), std::string::npos) << out_.str();
}

TEST_F(CommandLineTest, ListsTakeAFilterAndAnOrder) {
  EXPECT_EQ(Run({"jobs", "--filter", "state = FAILED", "--order-by", "name desc"}), 0);
  EXPECT_EQ(server_.state.job_list.filter(), "state = FAILED");
  EXPECT_EQ(server_.state.job_list.order_by(), "name desc");
  EXPECT_EQ(Run({"jobs", "--kind", "evaluation", "--kind", "training"}), 0);
  EXPECT_THAT(server_.state.job_list.kinds(),
              testing::ElementsAre(v1::JOB_KIND_EVALUATION, v1::JOB_KIND_TRAINING));
  EXPECT_NE(Run({"jobs", "--kind", "svm"}), 0);
  EXPECT_THAT(err_.str(), testing::HasSubstr("--kind: must be one of training, prediction"));
  Run({"models", "--filter", "labels:team", "--order-by", "create_time"});
  EXPECT_EQ(server_.state.model_list.filter(), "labels:team");
  EXPECT_EQ(server_.state.model_list.order_by(), "create_time");
  Run({"versions", "--filter", "learner = svm"});
  EXPECT_EQ(server_.state.version_list.model(), "models/-") << "of all models";
  EXPECT_EQ(server_.state.version_list.filter(), "learner = svm");
  Run({"versions", "spam", "--learner", "svm"});
  EXPECT_EQ(server_.state.version_list.model(), "models/spam");
  EXPECT_EQ(server_.state.version_list.learner(), "svm");
  Run({"data", "list", "--filter", "rows > 5", "--order-by", "name"});
  EXPECT_EQ(server_.state.dataset_list.filter(), "rows > 5");
  EXPECT_EQ(server_.state.dataset_list.order_by(), "name");
}

TEST_F(CommandLineTest, UsageErrorsSendNothing) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {},
           {"fly"},
           {"train", "d"},
           {"data"},
           {"data", "list", "--limit", "0"},
           {"jobs", "--watch", "--filter", "state = FAILED"},
           {"jobs", "--watch", "--order-by", "name"},
           {"versions", "--sort", "gap", "--order-by", "name"},
           {"versions", "--filter", "labels:team", "rm", "m", "--yes"},
           {"jobs", "--filter", "state = FAILED", "rm", "j"},
           {"jobs", "--order-by", "name", "update", "j", "--no-labels"},
           {"train", "d", "lp_mkl", "--folds", "5", "--hold-out", "0.2"},
           {"train", "d", "lp_mkl", "--task", "subject", "--one-task"},
           {"train", "d", "lp_mkl", "--task", "subject", "--with-task", "e"},
           {"train", "d", "lp_mkl", "--one-task", "--with-task", "e"}}) {
    EXPECT_EQ(Run(arguments), 2) << out_.str() << err_.str();
  }
  EXPECT_EQ(server_.state.calls, 0);
  EXPECT_EQ(Run({"train", "--help"}), 0);
  EXPECT_NE(out_.str().find("per_column"), std::string::npos);
}

TEST_F(CommandLineTest, FlagsOfOneValueMayBeGivenOnce) {
  const std::vector<std::string> train = {"train", "d", "lp_mkl", "--kernel", "linear"};
  for (const auto& [flag, code] : std::vector<std::pair<std::string, int>>{
           {"--p", 3}, {"--model", 2}, {"--seed", 2}, {"--timeout", 2}, {"--target", 2}}) {
    std::vector<std::string> twice = train;
    twice.insert(twice.end(), {flag, "1", flag, "2"});
    EXPECT_EQ(Run(twice), code) << flag;
    EXPECT_NE(err_.str().find(flag), std::string::npos) << err_.str();
  }
  EXPECT_TRUE(server_.state.trainings.empty());
}

TEST_F(CommandLineTest, RepeatableFlagsTakeOneValueEach) {
  const std::string path = ::testing::TempDir() + "/positional.csv";
  std::ofstream(path) << "x,w\n1,2\n";
  EXPECT_EQ(
      Run({"data", "upload", "--role", "w=weight", "--label", "a=b", "--categorical", "x", path}),
      0)
      << err_.str();
  EXPECT_EQ(Run({"predict", "--ignore", "x", "m", path}), 0) << err_.str();
  std::filesystem::remove(path);
}

TEST_F(CommandLineTest, MistakesInTheCommandLineAreJsonToo) {
  EXPECT_EQ(Run({"train", "--json"}), 2);
  EXPECT_EQ(err_.str().find("{\"code\":3,\"message\":"), 0u) << err_.str();
  EXPECT_EQ(CountLines(err_.str()), 1) << err_.str();
}

TEST_F(CommandLineTest, UnknownCommandsAreNamed) {
  EXPECT_EQ(Run({"fly"}), 2);
  EXPECT_EQ(err_.str().find("error: there is no command 'fly'; there are data, train, "), 0u)
      << err_.str();
  EXPECT_EQ(Run({"data", "lst"}), 2);
  EXPECT_EQ(
      err_.str(),
      "error: there is no command 'lst'; there are upload, upload-images, list, show, update, rm, "
      "uploads, drop; did you mean 'list'?\n");
  EXPECT_EQ(Run({"data"}), 2);
  EXPECT_EQ(err_.str().find("A subcommand is required"), 0u) << err_.str();
}

TEST_F(CommandLineTest, NearNamesAreSuggested) {
  server_.state.models = {"models/spam", "models/other"};
  EXPECT_EQ(Run({"show", "spma"}), 4);
  EXPECT_EQ(err_.str(), "error: there is no models/spma\nDid you mean models/spam?\n");
  EXPECT_EQ(Run({"show", "mushroom"}), 4);
  EXPECT_EQ(err_.str(), "error: there is no models/mushroom\n");
  EXPECT_EQ(Run({"show", "spma", "--json"}), 4);
  EXPECT_EQ(CountLines(err_.str()), 1) << err_.str();
}

TEST_F(CommandLineTest, TypingErrorsInCommandsAndOptionsAreAnswered) {
  EXPECT_EQ(Run({"trian", "d", "svm"}), 2);
  EXPECT_NE(err_.str().find("; did you mean 'train'?"), std::string::npos) << err_.str();
  EXPECT_EQ(Run({"versions", "--sotr", "gap"}), 2);
  EXPECT_EQ(err_.str(),
            "error: there is no option --sotr of 'versions'; see --help; did you mean '--sort'?\n");
  EXPECT_EQ(Run({"train", "d", "lp_mkl", "--kernel", "linear", "--modle", "x"}), 3);
  EXPECT_NE(err_.str().find("; did you mean 'model'?"), std::string::npos) << err_.str();
}

TEST_F(CommandLineTest, TheVersionIsAFlagToo) {
  EXPECT_EQ(RunCommandLine({"--version"}, out_, err_, Terminal()), 0);
  const std::string version = out_.str();
  EXPECT_EQ(version.find("mercer "), 0u) << version;
  EXPECT_EQ(Run({"version"}), 0);
  EXPECT_EQ(out_.str(), version);
}

TEST_F(CommandLineTest, ListsSayWhenThereIsMore) {
  EXPECT_EQ(Run({"data", "list", "--limit", "2"}), 0) << err_.str();
  EXPECT_NE(out_.str().find("datasets/d1"), std::string::npos) << out_.str();
  EXPECT_EQ(out_.str().find("datasets/d2"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("and more than these 2; see them with --limit N"), std::string::npos);
  EXPECT_EQ(Run({"data", "list", "--limit", "5"}), 0) << err_.str();
  EXPECT_NE(out_.str().find("datasets/d4"), std::string::npos) << out_.str();
  EXPECT_EQ(out_.str().find("--limit"), std::string::npos) << out_.str();
  EXPECT_EQ(Run({"data", "list", "--limit", "2", "--json"}), 0);
  EXPECT_EQ(CountLines(out_.str()), 2) << out_.str();
}

TEST_F(CommandLineTest, UnfinishedUploadsAreListedAndDropped) {
  EXPECT_EQ(Run({"data", "uploads"}), 0) << err_.str();
  EXPECT_NE(out_.str().find("no unfinished uploads"), std::string::npos) << out_.str();
  v1::Upload upload;
  upload.set_name("uploads/u1");
  upload.set_caller("anna");
  upload.set_display_name("big.csv");
  server_.state.unfinished.push_back(upload);
  EXPECT_EQ(Run({"data", "uploads"}), 0) << err_.str();
  for (const char* text : {"uploads/u1", "anna", "big.csv"}) {
    EXPECT_NE(out_.str().find(text), std::string::npos) << out_.str();
  }
  EXPECT_EQ(Run({"data", "drop", "u1"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "uploads/u1 deleted\n");
  EXPECT_EQ(server_.state.dropped_uploads, std::vector<std::string>{"uploads/u1"});
}

// The text of the help, whose lines are broken anywhere, with single blanks.
std::string Unbroken(const std::string& help) {
  std::istringstream words(help);
  std::string text;
  for (std::string word; words >> word;) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

TEST_F(CommandLineTest, HelpTellsTheWholeRuleOfTargetsAndOfUnseenCategories) {
  EXPECT_EQ(Run({"train", "--help"}), 0);
  EXPECT_THAT(Unbroken(out_.str()),
              ::testing::HasSubstr("a column of more than 20 different numbers, or of more than "
                                   "two that are not all whole, is a number"));
  EXPECT_EQ(Run({"predict", "--help"}), 0);
  EXPECT_THAT(Unbroken(out_.str()),
              ::testing::HasSubstr("zeros predicts them with 0 in all features of the column"));
}

TEST_F(CommandLineTest, DeletionsAreReported) {
  EXPECT_EQ(Run({"rm", "m"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "models/m deleted\n");
  EXPECT_EQ(Run({"rm", "m", "--json"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "{\"deleted\":\"models/m\"}\n");
}

TEST_F(CommandLineTest, DeletesJobsAndTheirListNarrowsNothing) {
  EXPECT_EQ(Run({"jobs", "rm", "a", "jobs/b"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "jobs/a deleted\njobs/b deleted\n");
  EXPECT_EQ(Run({"jobs", "delete", "c", "--json"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), "{\"deleted\":\"jobs/c\"}\n");
  EXPECT_EQ(Run({"jobs", "rm"}), 2);
  EXPECT_EQ(Run({"jobs", "--state", "failed", "rm", "d"}), 2);
  EXPECT_EQ(server_.state.deleted_jobs, (std::vector<std::string>{"jobs/a", "jobs/b", "jobs/c"}));
}

TEST_F(CommandLineTest, ChangesLabelsAndNamesOfJobsAndDataSets) {
  EXPECT_EQ(
      Run({"jobs", "update", "a", "--label", "team=blue", "--label", "stage=test", "--etag", "7"}),
      0)
      << err_.str();
  EXPECT_EQ(out_.str(), "jobs/a  etag 7\n");
  EXPECT_EQ(Run({"data", "update", "d", "--no-labels", "--display-name", "D", "--etag", "1-2"}), 0)
      << err_.str();
  EXPECT_EQ(out_.str(), "datasets/d  etag 1-2\n");
  ASSERT_EQ(server_.state.job_updates.size(), 1u);
  ASSERT_EQ(server_.state.dataset_updates.size(), 1u);
  const v1::UpdateJobRequest& job = server_.state.job_updates[0];
  EXPECT_EQ(job.job().labels().at("team"), "blue");
  EXPECT_EQ(job.job().labels().at("stage"), "test");
  EXPECT_THAT(job.update_mask().paths(), testing::ElementsAre("labels"));
  const v1::UpdateDatasetRequest& dataset = server_.state.dataset_updates[0];
  EXPECT_EQ(dataset.dataset().display_name(), "D");
  EXPECT_THAT(dataset.update_mask().paths(), testing::ElementsAre("labels", "display_name"));
  EXPECT_EQ(Run({"jobs", "update", "a"}), 3);
  EXPECT_EQ(Run({"data", "update", "d", "--no-labels", "--label", "a=b"}), 2);
  EXPECT_EQ(Run({"jobs", "--label", "a=b", "update", "a", "--no-labels"}), 2);
}

TEST_F(CommandLineTest, LimitsOfTheServerHaveACodeOfTheirOwn) {
  server_.state.train_status = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too big");
  EXPECT_EQ(Run({"train", "d", "lp_mkl", "--kernel", "linear"}), 8);
  EXPECT_EQ(err_.str(), "error: too big\n");
}

TEST_F(CommandLineTest, UploadDescribesTheFile) {
  const std::string path = ::testing::TempDir() + "/data.csv";
  const std::string square = ::testing::TempDir() + "/square.txt";
  std::ofstream(path) << "x;label\n1;a\n";
  std::ofstream(square) << "1;2\n2;1\n";
  ASSERT_EQ(Run({"data",
                 "upload",
                 path,
                 "--target",
                 "label",
                 "--delimiter",
                 ";",
                 "--categorical",
                 "x,y",
                 "--block",
                 "b=x,z..w",
                 "--square",
                 "s=" + square + ":distance",
                 "--role",
                 "w=weight",
                 "--id",
                 "mine",
                 "--allow-missing",
                 "--label",
                 "a=b"}),
            0)
      << err_.str();
  v1::UploadHeader header = server_.state.uploads.at(0);
  header.clear_request_id();
  v1::UploadHeader wanted;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    dataset_id: "mine" display_name: "data.csv" labels { key: "a" value: "b" }
    parts { csv { delimiter: ";" roles { key: "label" value: COLUMN_ROLE_TARGET }
                  roles { key: "w" value: COLUMN_ROLE_WEIGHT } categorical: ["x", "y"]
                  allow_missing: true blocks { name: "b" columns: ["x", "z..w"] } } }
    parts { square { name: "s" kind: SQUARE_KIND_DISTANCE columns: 2 } })",
                                                            &wanted));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(header, wanted))
      << header.DebugString();
  EXPECT_EQ(server_.state.uploaded_bytes.at(0).size(), std::string("x;label\n1;a\n").size() + 32);
  EXPECT_EQ(Run({"data", "upload", path, "--role", "x=y"}), 3);
  EXPECT_EQ(Run({"data", "upload", path + ".none"}), 4);
  std::filesystem::remove(path);
  std::filesystem::remove(square);
}

TEST(CommandLineOfNoServerTest, SaysHowToStartOne) {
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunCommandLine({"jobs", "--server", "127.0.0.1:1"}, out, err, Terminal()), 6);
  EXPECT_EQ(err.str().find("error: no server answers at 127.0.0.1:1; start one with 'mercer-server "
                           "--data-dir DIR', or name another with --server HOST:PORT"),
            0u)
      << err.str();
}

TEST(CommandLineOfNoServerTest, AddressesAreChecked) {
  for (const char* const address : {"localhost", "7345", ":7345", "host:port", "host:99999"}) {
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(RunCommandLine({"jobs", "--server", address}, out, err, Terminal()), 2) << address;
    EXPECT_NE(err.str().find("must be HOST:PORT"), std::string::npos) << err.str();
  }
}

TEST(CommandLineOfNoServerTest, OutputThatCannotBeWrittenIsAnError) {
  std::ofstream full("/dev/full");
  std::ostringstream err;
  EXPECT_EQ(RunCommandLine({"version"}, full, err, Terminal()), 1);
  EXPECT_EQ(err.str(), "error: the output could not be written\n");
}

}  // namespace
}  // namespace mercer::client
