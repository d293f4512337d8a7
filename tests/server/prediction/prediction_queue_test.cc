#include "server/prediction/prediction_queue.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mercer::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

PredictionBatch CallOfRows(int64_t rows) {
  PredictionBatch call;
  call.emplace_back();
  call.back().rows = rows;
  return call;
}

std::vector<int64_t> RowsOf(const PredictionBatch& batch) {
  std::vector<int64_t> rows;
  for (const PendingPrediction& call : batch) {
    rows.push_back(call.rows);
  }
  return rows;
}

TEST(PredictionQueueTest, CallsBeginAtOnceWhileThreadsAreFree) {
  PredictionQueue queue(/*max_running=*/2, /*max_rows=*/8);
  EXPECT_THAT(RowsOf(queue.Add(CallOfRows(1))), ElementsAre(1));
  EXPECT_THAT(RowsOf(queue.Add(CallOfRows(2))), ElementsAre(2));
  EXPECT_THAT(RowsOf(queue.Add(CallOfRows(3))), IsEmpty());
}

TEST(PredictionQueueTest, CallsThatWaitedRunTogetherInTheirOrder) {
  PredictionQueue queue(1, 8);
  queue.Add(CallOfRows(1));
  for (const int64_t rows : {2, 3, 3, 1}) {
    EXPECT_THAT(RowsOf(queue.Add(CallOfRows(rows))), IsEmpty());
  }
  EXPECT_THAT(RowsOf(queue.Next()), ElementsAre(2, 3, 3)) << "at most eight rows";
  EXPECT_THAT(RowsOf(queue.Add(CallOfRows(4))), IsEmpty());
  EXPECT_THAT(RowsOf(queue.Next()), ElementsAre(1, 4));
  EXPECT_THAT(RowsOf(queue.Next()), IsEmpty());
  EXPECT_THAT(RowsOf(queue.Add(CallOfRows(5))), ElementsAre(5)) << "nobody runs any more";
}

TEST(PredictionQueueTest, CallWithManyRowsIsNotHeldBack) {
  PredictionQueue queue(1, 8);
  queue.Add(CallOfRows(1));
  queue.Add(CallOfRows(100));
  queue.Add(CallOfRows(1));
  EXPECT_THAT(RowsOf(queue.Next()), ElementsAre(100));
  EXPECT_THAT(RowsOf(queue.Next()), ElementsAre(1));
}

}  // namespace
}  // namespace mercer::server
