// Names and versions in stored requests, which are messages in the encoding of protobuf.
#include "server/storage/sqlite/database/request_fields.h"

#include <string>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace mercer::server
