// What every implementation of the stores must do with aliases and their history.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/server/storage/storage_conformance.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

AliasMove Move(const std::string& alias, int64_t version, const std::string& etag,
               int64_t seconds) {
  AliasMove move;
  move.model = "m";
  move.alias = alias;
  move.version = version;
  move.etag = etag;
  move.caller = "ann";
  move.now = At(seconds);
  return move;
}

class AliasConformance : public StorageConformance {
 protected:
  void SetUp() override {
    StorageConformance::SetUp();
    AddDataset("data");
    for (int i = 1; i <= 3; ++i) {
      ASSERT_EQ(TrainVersion(absl::StrCat("j", i), "m", absl::StrCat("blob-", i)), i);
    }
  }
  ModelStore& models() { return storage_->models(); }
  std::vector<AliasChange> History(const std::string& alias) {
    const auto page = models().ListAliasChanges("m", alias, {1000, ""});
    EXPECT_TRUE(page.ok()) << page.status();
    return page.ok() ? page->items : std::vector<AliasChange>();
  }
};

TEST_F(AliasConformance, AliasIsMadeMovedAndRemoved) {
  const auto made = models().MoveAlias(Move("live", 1, "none", 100));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(*made, (AliasRecord{"m", "live", 1, "1", At(100)}));
  EXPECT_EQ(*models().GetAlias("m", "live"), *made);
  EXPECT_THAT(models().GetVersion("m", 1)->aliases, ElementsAre("live"));
  const auto moved = models().MoveAlias(Move("live", 2, made->etag, 101));
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_NE(moved->etag, made->etag);
  EXPECT_THAT(models().GetVersion("m", 1)->aliases, IsEmpty());
  const auto removed = models().MoveAlias(Move("live", 0, moved->etag, 102));
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(removed->version, 0);
  EXPECT_EQ(removed->etag, "none");
  EXPECT_EQ(GetReason(models().GetAlias("m", "live").status()), "ALIAS_NOT_FOUND");
  const auto again = models().MoveAlias(Move("live", 2, removed->etag, 103));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_NE(again->etag, moved->etag) << "an etag must never come back";
}

TEST_F(AliasConformance, StaleEtagChangesNothingAndTellsTheCurrentOne) {
  ASSERT_TRUE(models().MoveAlias(Move("live", 1, "", 100)).ok());
  for (const char* etag : {"none", "2", "x"}) {
    const absl::Status refused = models().MoveAlias(Move("live", 2, etag, 101)).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kAborted) << refused;
    EXPECT_EQ(GetReason(refused), "STALE_ETAG");
    EXPECT_EQ(MetadataOf(refused, "etag"), "1");
  }
  const absl::Status absent = models().MoveAlias(Move("other", 2, "1", 101)).status();
  EXPECT_EQ(MetadataOf(absent, "etag"), "none");
  EXPECT_EQ(models().GetAlias("m", "live")->version, 1);
  EXPECT_EQ(History("live").size(), 1U);
}

TEST_F(AliasConformance, RefusesWhatIsNotThere) {
  EXPECT_EQ(GetReason(models().MoveAlias(Move("live", 4, "", 100)).status()), "MODEL_NOT_FOUND");
  EXPECT_EQ(GetReason(models().MoveAlias(Move("live", 0, "", 100)).status()), "ALIAS_NOT_FOUND");
  AliasMove elsewhere = Move("live", 1, "", 100);
  elsewhere.model = "other";
  EXPECT_EQ(GetReason(models().MoveAlias(elsewhere).status()), "MODEL_NOT_FOUND");
  EXPECT_EQ(GetReason(models().ListAliasChanges("m", "live", {}).status()), "ALIAS_NOT_FOUND");
  EXPECT_EQ(GetReason(models().ListAliases("other", {}).status()), "MODEL_NOT_FOUND");
  EXPECT_EQ(GetReason(models().GetAliasAt("other", "live", At(1)).status()), "MODEL_NOT_FOUND");
}

TEST_F(AliasConformance, HistoryIsDenseAndSaysWhoWhenFromTo) {
  ASSERT_TRUE(models().MoveAlias(Move("live", 1, "", 100)).ok());
  ASSERT_TRUE(models().MoveAlias(Move("live", 1, "", 101)).ok());  // is there already
  ASSERT_TRUE(models().MoveAlias(Move("live", 3, "", 102)).ok());
  ASSERT_FALSE(models().MoveAlias(Move("live", 2, "none", 103)).ok());
  ASSERT_TRUE(models().MoveAlias(Move("other", 2, "", 104)).ok());
  ASSERT_TRUE(models().MoveAlias(Move("live", 0, "", 105)).ok());
  EXPECT_THAT(History("live"), ElementsAre(AliasChange{3, At(105), "ann", 3, 0, false},
                                           AliasChange{2, At(102), "ann", 1, 3, false},
                                           AliasChange{1, At(100), "ann", 0, 1, false}));
  const auto first = models().ListAliasChanges("m", "live", {2, ""});
  ASSERT_EQ(first->items.size(), 2U);
  const auto second = models().ListAliasChanges("m", "live", {2, first->next_token});
  ASSERT_EQ(second->items.size(), 1U);
  EXPECT_EQ(second->items[0].sequence, 1);
  EXPECT_EQ(second->next_token, "");
  EXPECT_EQ(GetReason(models().ListAliasChanges("m", "other", {2, first->next_token}).status()),
            "BAD_PAGE_TOKEN");
}

TEST_F(AliasConformance, AsOfAnswersAtTheBoundaries) {
  ASSERT_TRUE(models().MoveAlias(Move("live", 1, "", 100)).ok());
  ASSERT_TRUE(models().MoveAlias(Move("live", 2, "", 200)).ok());
  ASSERT_TRUE(models().MoveAlias(Move("live", 3, "", 200)).ok());  // within one microsecond
  ASSERT_TRUE(models().MoveAlias(Move("live", 0, "", 300)).ok());
  const auto at = [&](absl::Time time) -> int64_t {
    const auto alias = models().GetAliasAt("m", "live", time);
    EXPECT_TRUE(alias.ok() || GetReason(alias.status()) == "ALIAS_NOT_FOUND") << alias.status();
    return alias.ok() ? alias->version : 0;
  };
  const absl::Duration tick = absl::Microseconds(1);
  EXPECT_EQ(at(absl::InfinitePast()), 0);
  EXPECT_EQ(at(At(100) - tick), 0);
  EXPECT_EQ(at(At(100)), 1);
  EXPECT_EQ(at(At(200) - tick), 1);
  EXPECT_EQ(at(At(200) - absl::Nanoseconds(1)), 1);
  EXPECT_EQ(at(At(200)), 3);
  EXPECT_EQ(at(At(300) - tick), 3);
  EXPECT_EQ(at(At(300)), 0);
  EXPECT_EQ(at(absl::InfiniteFuture()), 0);
}

TEST_F(AliasConformance, ClockThatIsSetBackKeepsTheOrderOfTheHistory) {
  ASSERT_TRUE(models().MoveAlias(Move("live", 1, "", 200)).ok());
  ASSERT_TRUE(models().MoveAlias(Move("live", 2, "", 100)).ok());
  EXPECT_EQ(History("live")[0].time, At(200));
  EXPECT_EQ(models().GetAliasAt("m", "live", At(200))->version, 2);
  EXPECT_FALSE(models().GetAliasAt("m", "live", At(150)).ok());
}

TEST_F(AliasConformance, RollbackGoesToTheVersionBeforeTheLastChange) {
  const auto roll_back = [&](int64_t expected, int64_t seconds) {
    AliasMove move = Move("live", expected, "", seconds);
    move.rollback = true;
    return models().MoveAlias(move);
  };
  EXPECT_EQ(GetReason(roll_back(1, 99).status()), "ALIAS_NOT_FOUND");
  ASSERT_TRUE(models().MoveAlias(Move("live", 1, "", 100)).ok());
  EXPECT_EQ(GetReason(roll_back(1, 101).status()), "NO_EARLIER_VERSION");
  ASSERT_TRUE(models().MoveAlias(Move("live", 2, "", 102)).ok());
  EXPECT_EQ(GetReason(roll_back(3, 103).status()), "STALE_ETAG");
  const auto back = roll_back(1, 104);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->version, 1);
  EXPECT_EQ(History("live")[0], (AliasChange{3, At(104), "ann", 2, 1, true}));
  ASSERT_TRUE(models().MoveAlias(Move("live", 0, "", 105)).ok());
  const auto restored = roll_back(1, 106);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(models().GetAlias("m", "live")->version, 1);
}

TEST_F(AliasConformance, RepeatedRequestMovesNothing) {
  AliasMove move = Move("live", 1, "none", 100);
  move.request_id = "once";
  move.request_digest = "digest";
  const auto first = models().MoveAlias(move);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(models().MoveAlias(Move("live", 2, "", 101)).ok());
  move.now = At(102);
  const auto repeated = models().MoveAlias(move);
  ASSERT_TRUE(repeated.ok()) << repeated.status();
  EXPECT_EQ(*repeated, *first);
  EXPECT_EQ(models().GetAlias("m", "live")->version, 2);
  EXPECT_EQ(**models().FindMove("ann", "once", "digest"), *first);
  EXPECT_FALSE(models().FindMove("ann", "other", "digest")->has_value());
  EXPECT_FALSE(models().FindMove("ann", "", "")->has_value());
  move.request_digest = "another";
  EXPECT_EQ(GetReason(models().MoveAlias(move).status()), "REQUEST_ID_REUSED");
}

TEST_F(AliasConformance, AliasesAreListedByName) {
  for (const char* alias : {"b", "c", "a", "gone"}) {
    ASSERT_TRUE(models().MoveAlias(Move(alias, 2, "", 100)).ok());
  }
  ASSERT_TRUE(models().MoveAlias(Move("gone", 0, "", 101)).ok());
  const auto first = models().ListAliases("m", {2, ""});
  ASSERT_EQ(first->items.size(), 2U);
  EXPECT_EQ(first->items[0], (AliasRecord{"m", "a", 2, "1", At(100)}));
  EXPECT_EQ(first->items[1].alias, "b");
  const auto second = models().ListAliases("m", {2, first->next_token});
  ASSERT_EQ(second->items.size(), 1U);
  EXPECT_EQ(second->items[0].alias, "c");
  EXPECT_EQ(second->next_token, "");
  EXPECT_THAT(models().GetVersion("m", 2)->aliases, ElementsAre("a", "b", "c"));
}

TEST_F(AliasConformance, VersionWithAliasCannotBeDeleted) {
  ASSERT_TRUE(models().MoveAlias(Move("live", 2, "", 100)).ok());
  ASSERT_TRUE(models().MoveAlias(Move("best", 2, "", 100)).ok());
  for (const int64_t version : {2, 0}) {
    const absl::Status refused = models().DeleteModel("m", version, At(101)).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(GetReason(refused), "VERSION_HAS_ALIAS");
    EXPECT_EQ(MetadataOf(refused, "aliases"), "best,live");
  }
  EXPECT_TRUE(models().DeleteModel("m", 1, At(101)).ok());
  ASSERT_TRUE(models().MoveAlias(Move("live", 0, "", 102)).ok());
  ASSERT_TRUE(models().MoveAlias(Move("best", 3, "", 102)).ok());
  EXPECT_TRUE(models().DeleteModel("m", 2, At(103)).ok());
  EXPECT_EQ(GetReason(models().MoveAlias(Move("best", 2, "", 104)).status()), "MODEL_NOT_FOUND");
}

TEST_F(AliasConformance, HistoryOutlivesTheModel) {
  ASSERT_TRUE(models().MoveAlias(Move("live", 2, "", 100)).ok());
  ASSERT_TRUE(models().MoveAlias(Move("live", 0, "", 101)).ok());
  ASSERT_TRUE(models().DeleteModel("m", 0, At(102)).ok());
  EXPECT_EQ(GetReason(models().ListAliasChanges("m", "live", {}).status()), "MODEL_NOT_FOUND");
  ASSERT_EQ(TrainVersion("j4", "m", "blob-4"), 4);
  EXPECT_EQ(History("live").size(), 2U);
  const auto made = models().MoveAlias(Move("live", 4, "none", 103));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->etag, "3");
}

TEST_F(AliasConformance, ExactlyOneOfTwoWhoRaceWithOneEtagWins) {
  constexpr int kRounds = 50;
  ASSERT_TRUE(models().MoveAlias(Move("live", 3, "", 100)).ok());
  for (int round = 0; round < kRounds; ++round) {
    const std::string etag = models().GetAlias("m", "live")->etag;
    std::atomic<int> wins{0};
    std::atomic<int> stale{0};
    std::vector<std::thread> racers;
    for (const int64_t version : {1, 2}) {
      racers.emplace_back([&, version] {
        // Both lead to another version than now.
        const int64_t target = round % 2 == 0 ? version : 3;
        AliasMove move = Move("live", target, etag, 101);
        move.caller = absl::StrCat("racer ", version);
        const auto moved = models().MoveAlias(move);
        wins += moved.ok() ? 1 : 0;
        stale += GetReason(moved.status()) == "STALE_ETAG" ? 1 : 0;
      });
    }
    for (std::thread& racer : racers) {
      racer.join();
    }
    EXPECT_EQ(wins, 1);
    EXPECT_EQ(stale, 1);
  }
  const std::vector<AliasChange> history = History("live");
  ASSERT_EQ(history.size(), kRounds + 1U);
  for (size_t i = 0; i < history.size(); ++i) {
    EXPECT_EQ(history[i].sequence, static_cast<int64_t>(history.size() - i));
    EXPECT_EQ(history[i].from, i + 1 < history.size() ? history[i + 1].to : 0);
  }
}

TEST_F(AliasConformance, TenThousandMovesAreListedInPages) {
  constexpr int kMoves = 10'000;
  std::atomic<int> failures{0};
  for (int i = 0; i < kMoves; ++i) {
    models().MoveAlias(Move("live", 1 + i % 2, "", 100 + i),
                       [&](const auto& moved) { failures += moved.ok() ? 0 : 1; });
  }
  ASSERT_TRUE(models().MoveAlias(Move("live", 3, "", 100 + kMoves)).ok());  // answers come in order
  EXPECT_EQ(failures, 0);
  int64_t expected = kMoves + 1;
  std::string token;
  do {
    const auto page = models().ListAliasChanges("m", "live", {1000, token});
    ASSERT_TRUE(page.ok()) << page.status();
    for (const AliasChange& change : page->items) {
      EXPECT_EQ(change.sequence, expected--);
    }
    token = page->next_token;
  } while (!token.empty());
  EXPECT_EQ(expected, 0);
  EXPECT_EQ(models().GetAliasAt("m", "live", At(100 + kMoves / 2))->version, 1 + kMoves / 2 % 2);
}

TEST_F(AliasConformance, RestartKeepsAliasesAndHistory) {
  AliasMove move = Move("live", 1, "none", 100);
  move.request_id = "once";
  move.request_digest = "digest";
  const auto first = models().MoveAlias(move);
  ASSERT_TRUE(models().MoveAlias(Move("live", 2, first->etag, 101)).ok());
  const std::vector<AliasChange> history = History("live");
  storage_.reset();
  auto reopened = Open(folder_);
  ASSERT_TRUE(reopened.ok()) << reopened.status();
  storage_ = *std::move(reopened);
  EXPECT_EQ(models().GetAlias("m", "live")->version, 2);
  EXPECT_EQ(History("live"), history);
  EXPECT_EQ(*models().MoveAlias(move), *first) << "a request is known after the restart";
  EXPECT_EQ(models().GetAlias("m", "live")->version, 2);
}

}  // namespace
}  // namespace mercer::server
