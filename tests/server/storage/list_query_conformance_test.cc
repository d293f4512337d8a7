// Lists with a filter of their own and another order: pages, tokens, and what one read looks at.
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include <gmock/gmock.h>

#include "tests/server/storage/storage_conformance.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

FilterNode Equal(const std::string& field, const std::string& text) {
  FilterNode node;
  node.field = field;
  node.text = text;
  node.value.text = text;
  return node;
}

FilterNode Not(FilterNode inner) {
  FilterNode node;
  node.kind = FilterNode::Kind::kNot;
  node.children.push_back(std::move(inner));
  return node;
}

class ListQueryConformance : public StorageConformance {
 protected:
  void AddJobs() {
    AddDataset("data");
    for (const char* id : {"c", "a", "e", "b", "d"}) {
      NewJob job = MakeJob(id);
      job.learner = id[0] < 'c' ? "svm" : "lp_mkl";
      AddJob(job);
    }
  }

  absl::StatusOr<Page<JobRecord>> List(const JobFilter& filter, const PageRequest& page) {
    return storage_->jobs().ListJobs(filter, page);
  }

  // Over all pages of `size`.
  std::vector<std::string> JobIds(const JobFilter& filter, int32_t size) {
    std::vector<std::string> ids;
    PageRequest request{size, ""};
    do {
      const auto page = List(filter, request);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) {
        return ids;
      }
      for (const JobRecord& job : page->items) {
        ids.push_back(job.id);
      }
      request.token = page->next_token;
    } while (!request.token.empty());
    return ids;
  }
};

TEST_F(ListQueryConformance, JobsComeInTheOrderThatIsAskedFor) {
  AddJobs();
  using Key = ListOrder::Key;
  const auto ids = [this](ListOrder order, std::optional<FilterNode> filter = std::nullopt) {
    JobFilter jobs;
    jobs.query.order = order;
    jobs.query.filter = std::move(filter);
    const std::vector<std::string> one_by_one = JobIds(jobs, 1);
    EXPECT_EQ(JobIds(jobs, 2), one_by_one);
    EXPECT_EQ(JobIds(jobs, 100), one_by_one);
    return one_by_one;
  };
  EXPECT_THAT(ids({}), ElementsAre("d", "b", "e", "a", "c"));
  EXPECT_THAT(ids({Key::kCreateTime, true}), ElementsAre("d", "b", "e", "a", "c"));
  EXPECT_THAT(ids({Key::kCreateTime, false}), ElementsAre("c", "a", "e", "b", "d"));
  EXPECT_THAT(ids({Key::kName, false}), ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(ids({Key::kName, true}), ElementsAre("e", "d", "c", "b", "a"));
  EXPECT_THAT(ids({}, Equal("learner", "svm")), ElementsAre("b", "a"));
  EXPECT_THAT(ids({Key::kName, true}, Not(Equal("learner", "svm"))), ElementsAre("e", "d", "c"));
  EXPECT_THAT(ids({}, Equal("learner", "none")), IsEmpty());
}

// Keys that several jobs have: what pages divide are the numbers behind them.
TEST_F(ListQueryConformance, JobsWithEqualKeysComeOnceOnEveryPage) {
  AddDataset("data");
  const std::vector<std::pair<std::string, int32_t>> jobs = {
      {"a", 1}, {"b", -7}, {"c", 0}, {"d", 0}, {"e", 1}, {"f", 0}, {"g", 100}, {"h", -100}};
  for (const auto& [id, priority] : jobs) {
    NewJob job = MakeJob(id);
    job.priority = priority;
    AddJob(job);
  }
  for (const int64_t end : {40, 40, 30}) {  // of g, a, e
    AttemptEnd ended = MakeEnd(*Claim("w"), JobState::kFailed, AttemptReason::kFailed);
    ended.error = StoredError{2, "failed", ""};
    ended.now = At(end);
    ASSERT_TRUE(storage_->jobs().EndAttempt(ended).ok());
  }
  using Key = ListOrder::Key;
  const auto ids = [this](ListOrder order, std::optional<FilterNode> filter = std::nullopt) {
    JobFilter filtered;
    filtered.query.order = order;
    filtered.query.filter = std::move(filter);
    filtered.query.rows_at_once = 3;
    const std::vector<std::string> one_by_one = JobIds(filtered, 1);
    EXPECT_EQ(JobIds(filtered, 2), one_by_one);
    EXPECT_EQ(JobIds(filtered, 100), one_by_one);
    return absl::StrJoin(one_by_one, "");
  };
  EXPECT_EQ(ids({Key::kPriority, false}), "hbcdfaeg");
  EXPECT_EQ(ids({Key::kPriority, true}), "geafdcbh");
  EXPECT_EQ(ids({Key::kEndTime, false}), "eagbcdfh");
  EXPECT_EQ(ids({Key::kEndTime, true}), "hfdcbgae");
  FilterNode ended = Equal("end_time", "");
  ended.comparison = Comparison::kPresent;
  EXPECT_EQ(ids({Key::kEndTime, true}, ended), "gae");
}

TEST_F(ListQueryConformance, JobsAreFoundByTheirNamesAndByTheModelsThatTheyMakeOrUse) {
  AddDataset("data");
  NewJob training = MakeJob("training");
  training.display_name = "the night's";
  AddJob(training);
  for (const int64_t version : {1, 2}) {
    NewJob job = MakeJob(absl::StrCat("evaluation", version));
    job.kind = JobKind::kEvaluation;
    job.model_name.clear();
    job.used_model = "model";
    job.used_version = version;
    AddJob(job);
  }
  NewJob other = MakeJob("other");
  other.model_name = "another";
  AddJob(other);
  const auto ids = [this](FilterNode node) {
    JobFilter filter;
    filter.query.filter = std::move(node);
    return JobIds(filter, 10);
  };
  FilterNode model = Equal("model", "model");
  EXPECT_THAT(ids(model), ElementsAre("evaluation2", "evaluation1", "training"));
  EXPECT_THAT(ids(Not(model)), ElementsAre("other"));
  model.value.number = 2;
  EXPECT_THAT(ids(model), ElementsAre("evaluation2"));
  model.comparison = Comparison::kPresent;
  EXPECT_THAT(ids(model), ElementsAre("evaluation2", "evaluation1")) << "the others have none yet";
  EXPECT_THAT(ids(Equal("display_name", "the night's")), ElementsAre("training"));
}

TEST_F(ListQueryConformance, ATokenIsOneOfItsFilterAndOrderAlone) {
  AddJobs();
  std::vector<JobFilter> filters(7);
  filters[1].query.filter = Equal("learner", "lp_mkl");
  filters[2].query.filter = Not(Equal("learner", "none"));
  filters[3].query.order = {ListOrder::Key::kCreateTime, true};
  filters[4].query.order = {ListOrder::Key::kName, true};
  filters[5].query.order = {ListOrder::Key::kPriority, true};
  filters[6].query.order = {ListOrder::Key::kEndTime, true};
  for (size_t made = 0; made < filters.size(); ++made) {
    const auto page = List(filters[made], {1, ""});
    ASSERT_TRUE(page.ok()) << page.status();
    ASSERT_NE(page->next_token, "");
    for (size_t used = 0; used < filters.size(); ++used) {
      const absl::Status status = List(filters[used], {1, page->next_token}).status();
      EXPECT_EQ(GetReason(status), used == made ? "" : "BAD_PAGE_TOKEN") << made << " " << used;
    }
  }
}

TEST_F(ListQueryConformance, APageEndsWhenManyRowsWereLookedAt) {
  AddJobs();
  JobFilter filter;
  filter.query.filter = Equal("learner", "svm");
  filter.query.rows_at_once = 2;
  const auto first = List(filter, {10, ""});
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(first->items.size(), 1U);
  EXPECT_EQ(first->items[0].id, "b");
  EXPECT_NE(first->next_token, "");
  filter.query.filter = Equal("learner", "none");
  const auto empty = List(filter, {10, ""});
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_THAT(empty->items, IsEmpty());
  EXPECT_NE(empty->next_token, "");
  EXPECT_THAT(JobIds(filter, 10), IsEmpty());
}

// As deep as filters may be nested, in the form that fills the stack of SQLite's parser most, with the field everywhere in it.
FilterNode Deepest(const FilterNode& comparison) {
  FilterNode deep = comparison;
  for (int level = 0; level < kMaxFilterDepth; ++level) {
    FilterNode any;
    any.kind = FilterNode::Kind::kAny;
    any.children = {comparison, Not(std::move(deep))};
    FilterNode all;
    all.kind = FilterNode::Kind::kAll;
    all.children = {comparison, std::move(any)};
    deep = std::move(all);
  }
  return deep;
}

TEST_F(ListQueryConformance, TheDeepestFiltersAreReadWhateverTheyCompare) {
  AddDataset("data");
  TrainVersion("j", "model", "blob");
  const auto expect_read = [](std::string_view list, const std::vector<std::string>& fields,
                              const auto& read) {
    for (const std::string& field : fields) {
      for (const Comparison comparison :
           {Comparison::kEqual, Comparison::kNotEqual, Comparison::kPresent}) {
        FilterNode node = Equal(field, "x");
        node.key = "x";
        node.comparison = comparison;
        ListQuery query;
        query.filter = Deepest(node);
        const absl::Status status = read(query);
        EXPECT_TRUE(status.ok()) << list << " " << field << " " << SymbolOf(comparison) << status;
      }
    }
  };
  expect_read("jobs",
              {"name", "state", "kind", "learner", "owner", "priority", "create_time", "start_time",
               "end_time", "model", "datasets", "labels"},
              [&](const ListQuery& query) {
                return storage_->jobs().ListJobs({{}, {}, query}, {}).status();
              });
  expect_read("data sets",
              {"name", "display_name", "rows", "size_bytes", "owner", "create_time", "labels"},
              [&](const ListQuery& query) {
                return storage_->datasets().ListDatasets({}, query).status();
              });
  expect_read(
      "models",
      {"name", "display_name", "description", "owner", "create_time", "update_time", "num_versions",
       "aliases", "labels"},
      [&](const ListQuery& query) { return storage_->models().ListModels({}, query).status(); });
  for (const std::string model : {"model", ""}) {
    expect_read("versions",
                {"name", "learner", "description", "owner", "job", "size_bytes", "create_time",
                 "aliases", "labels"},
                [&](const ListQuery& query) {
                  return storage_->models().ListVersions(model, {}, {"", {}, query}).status();
                });
  }
}

// Models a to d, with 2, 1, 3 and 1 versions; the odd ones of every model have the label odd=yes. Models with one version have
// it as well. Sizes of versions and times of updates are in no other order, and some are equal.
class ListOfVersions : public ListQueryConformance {
 protected:
  void AddModels() {
    AddDataset("data");
    struct NewModel {
      std::string name;
      int64_t update_time;
      std::vector<int64_t> sizes;  // of its versions
    };
    int job = 0;
    for (const auto& [model, update_time, sizes] : std::vector<NewModel>{
             {"c", 61, {30, 10, 20}}, {"a", 62, {10, 40}}, {"d", 61, {5}}, {"b", 60, {20}}}) {
      const auto versions = static_cast<int64_t>(sizes.size());
      for (int64_t version = 1; version <= versions; ++version) {
        ++job;
        ASSERT_EQ(TrainVersion(absl::StrCat("j", job), model, absl::StrCat("b", job),
                               sizes[static_cast<size_t>(version - 1)]),
                  version);
        VersionUpdate update;
        update.model = model;
        update.version = version;
        update.labels = Labels{{"odd", version % 2 == 1 ? "yes" : "no"}};
        update.now = At(50);
        ASSERT_TRUE(storage_->models().UpdateVersion(update).ok());
      }
      ModelUpdate update;
      update.model = model;
      update.display_name = absl::StrCat("the model ", model);
      update.labels = Labels{{"odd", versions == 1 ? "yes" : "no"}};
      update.now = At(update_time);
      ASSERT_TRUE(storage_->models().UpdateModel(update).ok());
    }
  }

  static FilterNode Odd() {
    FilterNode node = Equal("labels", "yes");
    node.key = "odd";
    return node;
  }

  // Names or versions over all pages of each of several sizes, which must agree.
  template <typename List, typename Key>
  std::string All(const List& list, const Key& key) {
    std::set<std::string> answers;
    for (const int32_t size : {1, 2, 100}) {
      std::string all;
      PageRequest request{size, ""};
      do {
        const auto page = list(request);
        EXPECT_TRUE(page.ok()) << page.status();
        if (!page.ok()) {
          return "";
        }
        for (const auto& item : page->items) {
          absl::StrAppend(&all, key(item));
        }
        request.token = page->next_token;
      } while (!request.token.empty());
      answers.insert(all);
    }
    EXPECT_EQ(answers.size(), 1U);
    return *answers.begin();
  }

  std::string Models(const ListOrder& order, std::optional<FilterNode> filter) {
    ListQuery all;
    all.order = order;
    all.filter = std::move(filter);
    all.rows_at_once = 3;
    return All([&](const PageRequest& page) { return storage_->models().ListModels(page, all); },
               [](const ModelRecord& model) { return model.name; });
  }

  std::string Versions(const std::string& model, const ListOrder& order,
                       std::optional<FilterNode> filter) {
    VersionFilter all;
    all.query.order = order;
    all.query.filter = std::move(filter);
    all.query.rows_at_once = 2;
    return All(
        [&](const PageRequest& page) { return storage_->models().ListVersions(model, page, all); },
        [&](const VersionRecord& version) {
          return absl::StrCat(model.empty() ? version.model : "", version.version);
        });
  }
};

TEST_F(ListOfVersions, ModelsAreListedByWhatTheyHaveThemselves) {
  AddModels();
  using Key = ListOrder::Key;
  EXPECT_EQ(Models({}, std::nullopt), "abcd");
  EXPECT_EQ(Models({Key::kName, true}, std::nullopt), "dcba");
  EXPECT_EQ(Models({Key::kCreateTime, false}, std::nullopt), "cadb");
  EXPECT_EQ(Models({Key::kCreateTime, true}, std::nullopt), "bdac");
  EXPECT_EQ(Models({Key::kUpdateTime, false}, std::nullopt), "bcda");
  EXPECT_EQ(Models({Key::kUpdateTime, true}, std::nullopt), "adcb");
  EXPECT_EQ(Models({Key::kUpdateTime, true}, Odd()), "db");
  EXPECT_EQ(Models({}, Odd()), "bd");
  EXPECT_EQ(Models({}, Not(Odd())), "ac");
  EXPECT_EQ(Models({Key::kCreateTime, true}, Odd()), "bd");
  EXPECT_EQ(Models({}, Equal("display_name", "the model c")), "c");
  EXPECT_EQ(Models({}, Not(Equal("name", "a"))), "bcd");
  FilterNode several = Equal("num_versions", "");
  several.comparison = Comparison::kGreater;
  several.value.number = 1;
  EXPECT_EQ(Models({}, several), "ac");
  ASSERT_TRUE(storage_->models().DeleteModel("a", 0, At(70)).ok());
  EXPECT_EQ(Models({}, std::nullopt), "bcd");
  ASSERT_EQ(TrainVersion("anew", "a", "banew"), 3);
  EXPECT_EQ(Models({Key::kName, false}, std::nullopt), "abcd");
}

TEST_F(ListOfVersions, ThoseOfAllModelsComeByCreationOrName) {
  AddModels();
  using Key = ListOrder::Key;
  EXPECT_EQ(Versions("", {}, std::nullopt), "b1d1a2a1c3c2c1");
  EXPECT_EQ(Versions("", {Key::kCreateTime, false}, Odd()), "c1c3a1d1b1");
  EXPECT_EQ(Versions("", {Key::kName, false}, std::nullopt), "a1a2b1c1c2c3d1");
  EXPECT_EQ(Versions("", {Key::kName, true}, Odd()), "d1c3c1b1a1");
  EXPECT_EQ(Versions("", {}, Not(Equal("job", "j2"))), "b1d1a2a1c3c1");
  EXPECT_EQ(Versions("", {Key::kSizeBytes, true}, std::nullopt), "a2c1b1c3a1c2d1");
  EXPECT_EQ(Versions("", {Key::kSizeBytes, false}, Odd()), "d1a1c3b1c1");
  EXPECT_EQ(Versions("c", {Key::kSizeBytes, false}, std::nullopt), "231");
  EXPECT_EQ(Versions("c", {Key::kSizeBytes, true}, Odd()), "13");
}

TEST_F(ListOfVersions, WhatTheyWereTrainedOnIsKnownWhenTheJobsAreGone) {
  AddModels();
  ASSERT_TRUE(storage_->jobs().DeleteJob("j2").ok());
  EXPECT_EQ(Versions("c", {}, Equal("datasets", "data")), "321");
  EXPECT_EQ(Versions("", {}, Equal("datasets", "data")), "b1d1a2a1c3c2c1");
  EXPECT_EQ(Versions("", {}, Not(Equal("datasets", "data"))), "");
  EXPECT_EQ(Versions("", {}, Equal("datasets", "others")), "");
  ASSERT_TRUE(storage_->models().DeleteModel("c", 2, At(70)).ok());
  EXPECT_EQ(Versions("c", {}, Equal("datasets", "data")), "31");
}

TEST_F(ListOfVersions, VersionsComeByTheirNumbers) {
  AddModels();
  using Key = ListOrder::Key;
  EXPECT_EQ(Versions("c", {}, Odd()), "31");
  EXPECT_EQ(Versions("c", {Key::kName, false}, std::nullopt), "123");
  EXPECT_EQ(Versions("c", {Key::kCreateTime, true}, Not(Equal("job", "j2"))), "31");
  EXPECT_EQ(Versions("a", {Key::kCreateTime, false}, std::nullopt), "12");
  VersionFilter other;
  other.query.filter = Odd();
  const auto page = storage_->models().ListVersions("c", {1, ""}, other);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(GetReason(storage_->models().ListVersions("c", {1, page->next_token}).status()),
            "BAD_PAGE_TOKEN");
}

TEST_F(ListOfVersions, DataSetsComeInTheOrderThatIsAskedFor) {
  for (const char* id : {"c", "a", "hidden", "b", "d"}) {
    DatasetRecord dataset = MakeDataset(id);
    dataset.rows = id[0];
    dataset.size_bytes = id[0] < 'c' ? 2000 : 1000;
    dataset.labels = {{"odd", id[0] % 2 == 1 ? "yes" : "no"}};
    ASSERT_TRUE(storage_->datasets().CreateDataset(dataset).ok());
  }
  ASSERT_TRUE(storage_->datasets().HideDataset("hidden").ok());
  using Key = ListOrder::Key;
  const auto ids = [this](const ListOrder& order, std::optional<FilterNode> filter) {
    ListQuery query;
    query.order = order;
    query.filter = std::move(filter);
    query.rows_at_once = 2;
    return All(
        [&](const PageRequest& page) { return storage_->datasets().ListDatasets(page, query); },
        [](const DatasetRecord& dataset) { return dataset.id; });
  };
  EXPECT_EQ(ids({}, std::nullopt), "dbac");
  EXPECT_EQ(ids({Key::kCreateTime, false}, std::nullopt), "cabd");
  EXPECT_EQ(ids({Key::kName, false}, std::nullopt), "abcd");
  EXPECT_EQ(ids({Key::kName, true}, Odd()), "ca");
  EXPECT_EQ(ids({}, Not(Odd())), "db");
  EXPECT_EQ(ids({Key::kRows, false}, std::nullopt), "abcd");
  EXPECT_EQ(ids({Key::kRows, true}, Odd()), "ca");
  EXPECT_EQ(ids({Key::kSizeBytes, false}, std::nullopt), "cdab");
  EXPECT_EQ(ids({Key::kSizeBytes, true}, std::nullopt), "badc");
  FilterNode rows = Equal("rows", "");
  rows.comparison = Comparison::kGreater;
  rows.value.number = 'b';
  EXPECT_EQ(ids({}, rows), "dc");
  EXPECT_EQ(ids({}, Not(Equal("display_name", "the set a"))), "dbc");
  const auto page = storage_->datasets().ListDatasets({1, ""});
  ListQuery other;
  other.order = {Key::kName, false};
  EXPECT_EQ(GetReason(storage_->datasets().ListDatasets({1, page->next_token}, other).status()),
            "BAD_PAGE_TOKEN");
}

}  // namespace
}  // namespace mercer::server
