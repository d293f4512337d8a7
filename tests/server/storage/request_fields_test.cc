// Names and versions in stored requests, and data sets in summaries, which are messages in the encoding of protobuf.
#include "server/storage/sqlite/database/request_fields.h"

#include <string>

#include <gmock/gmock.h>

#include "server/storage/records.h"

namespace mercer::server {
namespace {

const std::string kVersion =
    "\x0a\x14"
    "models/m/versions/12";

void ExpectFields(JobKind kind, const std::string& request, const std::string& display_name,
                  const std::string& model, int64_t version) {
  const RequestFields fields = ReadRequestFields(static_cast<int64_t>(kind), request);
  EXPECT_EQ(fields.display_name, display_name);
  EXPECT_EQ(fields.model, model);
  EXPECT_EQ(fields.version, version);
}

TEST(RequestFieldsTest, AreThoseOfTheKind) {
  const std::string name =
      "\x42\x04"
      "name";
  ExpectFields(JobKind::kPrediction, kVersion + name, "name", "m", 12);
  ExpectFields(JobKind::kEvaluation,
               "\x12\x04"
               "data" +
                   kVersion,
               "", "m", 12);
  ExpectFields(JobKind::kVerification, kVersion, "", "m", 12);
  ExpectFields(JobKind::kTraining, kVersion + name, "", "", 0);
  ExpectFields(static_cast<JobKind>(99), kVersion + name, "", "", 0);
}

TEST(RequestFieldsTest, OtherFieldsAreSteppedOver) {
  // One of each encoding, and a name that comes twice: the last one counts.
  const std::string others("\x50\x96\x01\x2d\0\0\0\0\x31\0\0\0\0\0\0\0\0", 17);
  ExpectFields(JobKind::kTraining,
               others +
                   "\x82\x01\x05"
                   "first" +
                   "\x82\x01\x06"
                   "second" +
                   others,
               "second", "", 0);
}

TEST(RequestFieldsTest, WhatCannotBeReadIsEmpty) {
  ExpectFields(JobKind::kPrediction, "", "", "", 0);
  ExpectFields(JobKind::kPrediction,
               kVersion +
                   "\x42\x40"
                   "name",
               "", "", 0);
  ExpectFields(JobKind::kPrediction, kVersion + "\x42", "", "", 0);
  ExpectFields(JobKind::kPrediction, kVersion + "\x44", "", "", 0);
  ExpectFields(JobKind::kPrediction, std::string(12, '\xff'), "", "", 0);
  ExpectFields(JobKind::kPrediction,
               "\x0a\x08"
               "models/m",
               "", "", 0);
  ExpectFields(JobKind::kPrediction,
               "\x0a\x13"
               "models/m/versions/x",
               "", "", 0);
}

std::string Field(int number, const std::string& text) {
  std::string field;
  const int tag = number << 3 | 2;
  if (tag >= 0x80) {
    field += static_cast<char>((tag & 0x7f) | 0x80);
    field += static_cast<char>(tag >> 7);
  } else {
    field += static_cast<char>(tag);
  }
  return field + static_cast<char>(text.size()) + text;
}

TEST(RequestFieldsTest, TrainedDataSetsAreThoseOfTheRequestInTheLineage) {
  const std::string first = Field(1, Field(1, "datasets/a"));
  const std::string second = Field(1, Field(1, "datasets/b") + std::string("\x10\x02", 2));
  const auto summary = [](const std::string& request) {
    return Field(1, "models/m") + Field(18, Field(1, "jobs/j") + Field(2, request));
  };
  EXPECT_THAT(ReadTrainedDatasets(summary(first + Field(16, "name") + second)),
              testing::ElementsAre("a", "b"));
  EXPECT_THAT(ReadTrainedDatasets(summary(Field(1, Field(1, "data/a")) + second)),
              testing::ElementsAre("b"));
  EXPECT_THAT(ReadTrainedDatasets(summary(first + "\x0a")), testing::IsEmpty());
  EXPECT_THAT(ReadTrainedDatasets(Field(18, first)), testing::IsEmpty());
  EXPECT_THAT(ReadTrainedDatasets(""), testing::IsEmpty());
}

}  // namespace
}  // namespace mercer::server
