// Uploads without a network: messages in, data set out, nothing left behind.
#include "server/uploads/dataset_upload.h"

#include <filesystem>
#include <unistd.h>

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/io/store/dataset_file.h"
#include "server/api/dataset_handlers.h"
#include "tests/server/uploads/upload_fixture.h"

namespace mercer::server {
namespace {

using testing::HasSubstr;

class DatasetUploadTest : public UploadFolderTest {
 protected:
  static v1::UploadDatasetRequest Header(const std::string& text) {
    v1::UploadDatasetRequest message;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, message.mutable_header()))
        << text;
    return message;
  }
  static v1::UploadDatasetRequest Chunk(int part, const std::string& bytes) {
    v1::UploadDatasetRequest message;
    message.mutable_chunk()->set_part(part);
    message.mutable_chunk()->set_data(bytes);
    return message;
  }
  static std::string Doubles(const std::vector<double>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
  }

  absl::StatusOr<v1::Dataset> Upload(const std::vector<v1::UploadDatasetRequest>& messages,
                                     bool cancelled = false) {
    DatasetUpload upload(context_);
    for (const v1::UploadDatasetRequest& message : messages) {
      const absl::Status status = upload.Add(message);
      if (!status.ok()) {
        return status;
      }
    }
    return upload.Finish([cancelled] { return cancelled; });
  }
};

constexpr char kCsvHeader[] = "parts { csv { roles { key: 'y' value: COLUMN_ROLE_TARGET } } }";
constexpr char kCsv[] = "a,b,y\n1,red,0\n2,blue,1\n3,red,1\n";

TEST_F(DatasetUploadTest, CsvIsDescribedWithStatisticsAndClassCounts) {
  const auto dataset = Upload({Header(kCsvHeader), Chunk(0, std::string(kCsv).substr(0, 7)),
                               Chunk(0, std::string(kCsv).substr(7))});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->rows(), 3);
  EXPECT_EQ(dataset->num_columns(), 2);
  ASSERT_EQ(dataset->blocks_size(), 1);
  const v1::Column& a = dataset->blocks(0).columns(0);
  EXPECT_EQ(a.statistics().min(), 1);
  EXPECT_EQ(a.statistics().max(), 3);
  EXPECT_EQ(a.statistics().mean(), 2);
  EXPECT_NEAR(a.statistics().standard_deviation(), 0.81649658092772603, 1e-15);
  const v1::Column& b = dataset->blocks(0).columns(1);
  EXPECT_EQ(b.type(), v1::COLUMN_TYPE_CATEGORICAL);
  ASSERT_EQ(b.value_counts_size(), 2);
  EXPECT_EQ(b.value_counts(0).value(), "red");
  EXPECT_EQ(b.value_counts(0).count(), 2);
  ASSERT_EQ(dataset->role_columns_size(), 1);
  ASSERT_EQ(dataset->role_columns(0).value_counts_size(), 2);
  EXPECT_EQ(dataset->role_columns(0).value_counts(1).value(), "1");
  EXPECT_EQ(dataset->role_columns(0).value_counts(1).count(), 2);
  EXPECT_EQ(FilesIn("uploads"), 0u);
  EXPECT_EQ(FilesIn("blobs"), 1u);
}

TEST_F(DatasetUploadTest, DenseTableWithSquareIsRead) {
  const std::string header = R"(
      dataset_id: "dense" parts { dense { columns { name: "x" } columns { name: "y" role: COLUMN_ROLE_TARGET } rows: 2 } }
      parts { square { name: "similarity" kind: SQUARE_KIND_KERNEL } })";
  const auto dataset = Upload(
      {Header(header), Chunk(0, Doubles({1, 0, 2, 1})), Chunk(1, Doubles({1, 0.5, 0.5, 1}))});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->name(), "datasets/dense");
  EXPECT_EQ(dataset->rows(), 2);
  ASSERT_EQ(dataset->squares_size(), 1);
  EXPECT_EQ(dataset->squares(0).columns(), 2);
}

TEST_F(DatasetUploadTest, SquaresOfSinglePrecisionAreWidened) {
  const std::string header = R"(
      parts { dense { columns { name: "x" } columns { name: "y" role: COLUMN_ROLE_TARGET } rows: 2 } }
      parts { square { name: "s" kind: SQUARE_KIND_KERNEL single_precision: true } })";
  const auto upload = [&](const std::vector<float>& values) {
    const std::string bytes(reinterpret_cast<const char*>(values.data()),
                            values.size() * sizeof(float));
    return Upload({Header(header), Chunk(0, Doubles({1, 0, 2, 1})), Chunk(1, bytes)});
  };
  const auto uploaded = upload({1, 0.1F, 0.1F, 3e-40F});
  ASSERT_TRUE(uploaded.ok()) << uploaded.status();
  const auto dataset = mercer::OpenDataset(*blobs_->VerifiedPath(uploaded->digest()));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(RowMatrix(dataset->FindSquare("s")->values.view()),
            (RowMatrix(2, 2) << 1.0, 0.1F, 0.1F, 3e-40F).finished());
  EXPECT_EQ(GetReason(upload({1, 2, 3}).status()), "BAD_SIZE");
  EXPECT_EQ(GetReason(upload({1, 2, 3, 4, 5, 6, 7, 8}).status()), "BAD_SIZE");
  EXPECT_EQ(GetReason(upload({1, 2, 3, std::nanf("")}).status()), "BAD_CELL");
}

TEST_F(DatasetUploadTest, AbsurdShapesAreRefused) {
  // 8 * (2^61 + 1) bytes wrap round to 8.
  const std::string header = R"(
      parts { dense { columns { name: "x" } columns { name: "y" } rows: 2 } }
      parts { square { name: "s" kind: SQUARE_KIND_KERNEL columns: 2305843009213693953 } })";
  const auto dataset =
      Upload({Header(header), Chunk(0, Doubles({1, 0, 2, 1})), Chunk(1, Doubles({1, 0.5}))});
  EXPECT_EQ(dataset.status().code(), absl::StatusCode::kInvalidArgument) << dataset.status();
  EXPECT_EQ(FilesIn("uploads"), 0u);
}

TEST_F(DatasetUploadTest, WrongNumbersOfBytesAreRefused) {
  const std::string dense =
      "parts { dense { columns { name: 'x' } columns { name: 'y' } rows: 2 } }";
  for (const std::vector<double>& values :
       {std::vector<double>{1, 2, 3}, {1, 2}, {1, 2, 3, 4, 5, 6}}) {
    const auto dataset = Upload({Header(dense), Chunk(0, Doubles(values))});
    EXPECT_EQ(GetReason(dataset.status()), "BAD_SIZE") << values.size();
  }
  EXPECT_EQ(GetReason(Upload({Header(dense), Chunk(0, "123")}).status()), "BAD_SIZE");
  EXPECT_EQ(FilesIn("uploads"), 0u);
}

TEST_F(DatasetUploadTest, MissingAndInfiniteNumbersNameRowAndColumn) {
  const std::string dense = "parts { dense { columns { name: 'x' } columns { name: 'y' } } }";
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    const auto dataset = Upload({Header(dense), Chunk(0, Doubles({1, 2, 3, bad}))});
    EXPECT_EQ(GetReason(dataset.status()), "BAD_CELL") << dataset.status();
    EXPECT_THAT(std::string(dataset.status().message()),
                testing::AllOf(HasSubstr("row 2"), HasSubstr("y")));
  }
  const absl::Status of_target =
      Upload({Header("parts { dense { columns { name: 'x' } columns { name: 'y' role: "
                     "COLUMN_ROLE_TARGET } } }"),
              Chunk(0, Doubles({1, 2, 3, std::nan("")}))})
          .status();
  EXPECT_EQ(GetReason(of_target), "BAD_CELL") << of_target;
  EXPECT_THAT(std::string(of_target.message()), HasSubstr("leave them out"));
}

TEST_F(DatasetUploadTest, NamesHaveAnEnd) {
  const std::string longest(1024, 'n');
  EXPECT_TRUE(Upload({Header("parts { csv {} }"), Chunk(0, longest + ",b\n1,2\n")}).ok());
  for (const std::string& table :
       {longest + "n,b\n1,2\n", "a,b\n1," + std::string(70'000, 'c') + "\n"}) {
    const absl::Status status = Upload({Header("parts { csv {} }"), Chunk(0, table)}).status();
    EXPECT_EQ(GetReason(status), "BAD_HEADER") << status;
  }
  const absl::Status status =
      Upload({Header("parts { dense { rows: 1 columns { name: '" + longest + "n' } } }"),
              Chunk(0, Doubles({1}))})
          .status();
  EXPECT_EQ(GetReason(status), "BAD_HEADER") << status;
}

TEST_F(DatasetUploadTest, BadCellInCsvNamesRowAndColumn) {
  const auto dataset =
      Upload({Header("parts { csv { numeric: 'a' } }"), Chunk(0, "a,b\n1,2\nx,3\n")});
  EXPECT_EQ(GetReason(dataset.status()), "BAD_CELL") << dataset.status();
  EXPECT_THAT(std::string(dataset.status().message()),
              testing::AllOf(HasSubstr("row 2"), HasSubstr("'a'")));
  EXPECT_EQ(FilesIn("blobs"), 0u);
}

TEST_F(DatasetUploadTest, SameRequestIdReturnsTheStoredDataSetAndRefusesOtherContent) {
  const std::string header = std::string("request_id: 'r1' ") + kCsvHeader;
  const auto first = Upload({Header(header), Chunk(0, kCsv)});
  ASSERT_TRUE(first.ok()) << first.status();
  const auto again = Upload({Header(header), Chunk(0, std::string(kCsv).substr(0, 9)),
                             Chunk(0, std::string(kCsv).substr(9))});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(first->SerializeAsString(), again->SerializeAsString());
  const auto other = Upload({Header(header), Chunk(0, std::string(kCsv) + "4,red,0\n")});
  EXPECT_EQ(other.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(GetReason(other.status()), "REQUEST_ID_REUSED");
  EXPECT_EQ(FilesIn("blobs"), 1u);
}

TEST_F(DatasetUploadTest, RequestIdIsRememberedWhateverTheIdOfTheDataSet) {
  const auto header = [](const std::string& id) {
    return Header("dataset_id: '" + id + "' request_id: 'r1' " + kCsvHeader);
  };
  ASSERT_TRUE(Upload({header("first"), Chunk(0, kCsv)}).ok());
  const auto other = Upload({header("second"), Chunk(0, kCsv)});
  EXPECT_EQ(GetReason(other.status()), "REQUEST_ID_REUSED") << other.status();
  const auto without =
      Upload({Header(std::string("request_id: 'r1' ") + kCsvHeader), Chunk(0, kCsv)});
  EXPECT_EQ(GetReason(without.status()), "REQUEST_ID_REUSED") << without.status();
  const auto again = Upload({header("first"), Chunk(0, kCsv)});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->name(), "datasets/first");
  // Free again with the data set's end.
  v1::DeleteDatasetRequest remove;
  remove.set_name("datasets/first");
  ASSERT_TRUE(DatasetHandlers(context_).DeleteDataset(remove).ok());
  EXPECT_TRUE(Upload({header("second"), Chunk(0, kCsv)}).ok());
  EXPECT_EQ(FilesIn("blobs"), 1u);
}

TEST_F(DatasetUploadTest, TakenIdIsRefusedAndTheStoredDataSetStays) {
  const std::string header = std::string("dataset_id: 'mine' ") + kCsvHeader;
  ASSERT_TRUE(Upload({Header(header), Chunk(0, kCsv)}).ok());
  EXPECT_EQ(GetReason(Upload({Header(header), Chunk(0, kCsv)}).status()), "DATASET_EXISTS");
  v1::GetDatasetRequest request;
  request.set_name("datasets/mine");
  EXPECT_TRUE(DatasetHandlers(context_).GetDataset(request).ok());
  EXPECT_EQ(FilesIn("blobs"), 1u);
}

TEST_F(DatasetUploadTest, WrongChecksumIsRefused) {
  const std::string header = std::string("sha256: '") + std::string(64, '0') + "' " + kCsvHeader;
  EXPECT_EQ(GetReason(Upload({Header(header), Chunk(0, kCsv)}).status()), "CHECKSUM_MISMATCH");
  const std::string right = std::string("sha256: '") + Sha256Hex(kCsv) + "' " + kCsvHeader;
  EXPECT_TRUE(Upload({Header(right), Chunk(0, kCsv)}).ok());
}

TEST_F(DatasetUploadTest, VanishedClientLeavesNothing) {
  const auto dataset = Upload({Header(kCsvHeader), Chunk(0, kCsv)}, /*cancelled=*/true);
  EXPECT_EQ(dataset.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(FilesIn("uploads"), 0u);
  EXPECT_EQ(FilesIn("blobs"), 0u);
  EXPECT_EQ(DatasetHandlers(context_).ListDatasets({})->datasets_size(), 0);
}

TEST_F(DatasetUploadTest, MessagesInWrongOrderAreRefused) {
  EXPECT_EQ(GetReason(Upload({Chunk(0, kCsv)}).status()), "BAD_UPLOAD_ORDER");
  EXPECT_EQ(GetReason(Upload({}).status()), "BAD_UPLOAD_ORDER");
  EXPECT_EQ(GetReason(Upload({Header(kCsvHeader), Header(kCsvHeader)}).status()),
            "BAD_UPLOAD_ORDER");
  EXPECT_EQ(GetReason(Upload({Header(kCsvHeader), Chunk(1, kCsv)}).status()), "BAD_UPLOAD_ORDER");
  EXPECT_EQ(GetReason(Upload({Header(kCsvHeader), v1::UploadDatasetRequest()}).status()),
            "BAD_UPLOAD_ORDER");
}

TEST_F(DatasetUploadTest, TooManyBytesAreRefusedWithTheLimit) {
  context_.limits.dataset_bytes = 10;
  const auto dataset = Upload({Header(kCsvHeader), Chunk(0, kCsv)});
  EXPECT_EQ(dataset.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetReason(dataset.status()), "DATASET_TOO_LARGE");
}

// 2000 bytes of text are 1000 numbers of 8 bytes each.
TEST_F(DatasetUploadTest, CellsThatDoNotFitAreRefusedWhateverTheTextTakes) {
  std::string csv = "a,b\n";
  for (int i = 0; i < 500; ++i) {
    csv += "1,2\n";
  }
  std::string svmlight;
  for (int i = 0; i < 250; ++i) {
    svmlight += "1 1:1 2:2 3:3\n";
  }
  context_.limits.dataset_bytes = 4000;
  ASSERT_LT(csv.size(), 4000u);
  ASSERT_LT(svmlight.size(), 4000u);
  for (const auto& [header, text] :
       {std::pair<std::string, std::string>("parts { csv { } }", csv),
        std::pair<std::string, std::string>("parts { svmlight { } }", svmlight)}) {
    const auto dataset = Upload({Header(header), Chunk(0, text)});
    EXPECT_EQ(dataset.status().code(), absl::StatusCode::kResourceExhausted) << dataset.status();
    EXPECT_EQ(GetReason(dataset.status()), "DATASET_TOO_LARGE");
    EXPECT_THAT(std::string(dataset.status().message()), HasSubstr("4000 bytes"));
  }
  context_.limits.dataset_bytes = 20'000;
  EXPECT_TRUE(Upload({Header("parts { csv { } }"), Chunk(0, csv)}).ok());
  EXPECT_EQ(FilesIn("uploads"), 0u);
}

TEST_F(DatasetUploadTest, CommasWithinQuotesAreNoCells) {
  std::string csv = "a,b\n";
  for (int i = 0; i < 10; ++i) {
    csv += "\"" + std::string(100, ',') + "\",\"say \"\"yes, no\"\"\"\n";
  }
  context_.limits.dataset_bytes = static_cast<int64_t>(csv.size());
  const auto dataset = Upload({Header("parts { csv { } }"), Chunk(0, csv)});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->num_columns(), 2);
}

TEST_F(DatasetUploadTest, QuoteWithinACellHidesNoCells) {
  std::string csv = "a,b\n5\" pipe,1\n";
  for (int i = 0; i < 500; ++i) {
    csv += "x,2\n";
  }
  context_.limits.dataset_bytes = 4000;
  ASSERT_LT(csv.size(), 4000u);
  EXPECT_EQ(GetReason(Upload({Header("parts { csv { } }"), Chunk(0, csv)}).status()),
            "DATASET_TOO_LARGE");
  context_.limits.dataset_bytes = 20'000;
  EXPECT_TRUE(Upload({Header("parts { csv { } }"), Chunk(0, csv)}).ok());
}

// 26 of 100 cells are set: 100 rows are stored dense, 80,000 bytes of numbers.
TEST_F(DatasetUploadTest, SparseTextThatIsStoredDenseCountsAsDense) {
  std::string row = "0";
  for (int column = 1; column <= 26; ++column) {
    row += " " + std::to_string(column) + ":1";
  }
  std::string svmlight;
  for (int i = 0; i < 100; ++i) {
    svmlight += row + "\n";
  }
  const char* header = "parts { svmlight { num_columns: 100 } }";
  context_.limits.dataset_bytes = 80'000;
  EXPECT_EQ(GetReason(Upload({Header(header), Chunk(0, svmlight)}).status()), "DATASET_TOO_LARGE");
  context_.limits.dataset_bytes = 100'000;
  EXPECT_TRUE(Upload({Header(header), Chunk(0, svmlight)}).ok());
}

TEST_F(DatasetUploadTest, NamesOfCategoriesCountAsMemory) {
  std::string csv = "a\n";
  for (int i = 0; i < 1000; ++i) {
    csv += "x" + std::to_string(i) + "\n";
  }
  context_.limits.dataset_bytes = 64'000;
  EXPECT_EQ(GetReason(Upload({Header("parts { csv { } }"), Chunk(0, csv)}).status()),
            "DATASET_TOO_LARGE");
  context_.limits.dataset_bytes = 200'000;
  EXPECT_TRUE(Upload({Header("parts { csv { } }"), Chunk(0, csv)}).ok());
}

TEST_F(DatasetUploadTest, DenseColumnsGoWhereTheLayoutSays) {
  const auto uploaded = Upload({Header(R"(
      parts { dense {
        columns { name: "p" } columns { name: "y" role: COLUMN_ROLE_TARGET } columns { name: "q" }
        columns { name: "n" role: COLUMN_ROLE_IGNORED } columns { name: "r" }
        blocks { name: "right" columns: "r" } } }
      parts { square { name: "s" kind: SQUARE_KIND_DISTANCE } })"),
                                Chunk(0, Doubles({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})),
                                Chunk(1, Doubles({0, 0.5, 0.5, 0}))});
  ASSERT_TRUE(uploaded.ok()) << uploaded.status();
  const auto path = blobs_->VerifiedPath(uploaded->digest());
  ASSERT_TRUE(path.ok()) << path.status();
  const auto dataset = mercer::OpenDataset(*path);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const FeatureBlock* rest = dataset->FindBlock("features");
  const FeatureBlock* right = dataset->FindBlock("right");
  ASSERT_NE(rest, nullptr);
  ASSERT_NE(right, nullptr);
  EXPECT_EQ(RowMatrix(rest->values.view()), (RowMatrix(2, 2) << 1, 3, 6, 8).finished());
  EXPECT_EQ(rest->columns[1].name, "q");
  EXPECT_EQ(RowMatrix(right->values.view()), (RowMatrix(2, 1) << 5, 10).finished());
  ASSERT_EQ(dataset->role_columns.size(), 1u);
  EXPECT_EQ(dataset->role_columns[0].values, (Vector(2) << 2, 7).finished());
  EXPECT_EQ(RowMatrix(dataset->FindSquare("s")->values.view()),
            (RowMatrix(2, 2) << 0, 0.5, 0.5, 0).finished());
}

TEST_F(DatasetUploadTest, ClientThatGoesDuringTheParseEndsIt) {
  std::string csv = "a,b\n";
  while (csv.size() < 2'000'000) {
    csv += "1,2\n";
  }
  const std::string dense(1'000'000 * sizeof(double), '\0');
  for (const auto& [header, bytes] :
       {std::pair<std::string, std::string>("parts { csv { } }", csv),
        std::pair<std::string, std::string>("parts { dense { columns { name: 'x' } } }", dense)}) {
    DatasetUpload upload(context_);
    ASSERT_TRUE(upload.Add(Header(header)).ok());
    for (size_t begin = 0; begin < bytes.size(); begin += 1'000'000) {
      ASSERT_TRUE(upload.Add(Chunk(0, bytes.substr(begin, 1'000'000))).ok());
    }
    int asked = 0;
    EXPECT_EQ(upload.Finish([&] { return ++asked > 3; }).status().code(),
              absl::StatusCode::kCancelled);
    EXPECT_EQ(asked, 4) << "it goes on after the fourth";
  }
  EXPECT_EQ(FilesIn("blobs"), 0u);
}

TEST_F(DatasetUploadTest, DescriptionHasABoundWhateverTheCellsHold) {
  constexpr int kColumns = 40;
  std::string csv;
  for (int c = 0; c < kColumns; ++c) {
    csv += (c == 0 ? "c" : ",c") + std::to_string(c);
  }
  for (int r = 0; r < 1000; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      csv += (c == 0 ? "\n" : ",") + std::string(300, 'x') + std::to_string(r);
    }
  }
  std::vector<v1::UploadDatasetRequest> messages = {Header("parts { csv { } }")};
  for (size_t begin = 0; begin < csv.size(); begin += 1'000'000) {
    messages.push_back(Chunk(0, csv.substr(begin, 1'000'000)));
  }
  const auto dataset = Upload(messages);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_LT(dataset->ByteSizeLong(), size_t{5} << 20);
  ASSERT_EQ(dataset->blocks(0).columns_size(), kColumns) << "their counts are left out first";
  const v1::Column& first = dataset->blocks(0).columns(0);
  ASSERT_EQ(first.value_counts_size(), 1000);
  EXPECT_EQ(first.value_counts(0).value(), std::string(197, 'x') + "...");
  EXPECT_EQ(dataset->blocks(0).columns(kColumns - 1).value_counts_size(), 0);
}

TEST_F(DatasetUploadTest, DataSetThatNoAnswerCanHoldIsNotStored) {
  context_.limits.message_bytes = 100;
  const auto dataset = Upload({Header(kCsvHeader), Chunk(0, kCsv)});
  EXPECT_EQ(GetReason(dataset.status()), "RESPONSE_TOO_LARGE") << dataset.status();
  context_.limits.message_bytes = 10'000;
  EXPECT_EQ(DatasetHandlers(context_).ListDatasets({})->datasets_size(), 0);
  EXPECT_EQ(FilesIn("blobs"), 0u);
}

TEST_F(DatasetUploadTest, AnnouncedTableThatCannotFitIsRefusedBeforeItsBytes) {
  context_.limits.dataset_bytes = 1000;
  for (const char* header :
       {"parts { dense { columns { name: 'x' } columns { name: 'y' } rows: 63 } }",
        "parts { dense { columns { name: 'x' } rows: 9223372036854775807 } }",
        "parts { dense { columns { name: 'x' } rows: 12 } } "
        "parts { square { name: 's' kind: SQUARE_KIND_KERNEL } }"}) {
    DatasetUpload upload(context_);
    EXPECT_EQ(GetReason(upload.Add(Header(header))), "DATASET_TOO_LARGE") << header;
  }
  EXPECT_EQ(FilesIn("uploads"), 0u);
}

TEST_F(DatasetUploadTest, EveryBadFieldOfTheHeaderIsNamed) {
  const auto dataset =
      Upload({Header("dataset_id: 'A/..' request_id: 'a b' sha256: 'x' parts { square { } } parts "
                     "{ csv { } } parts { square { columns: -1 } }")});
  std::vector<std::string> fields;
  for (const FieldViolation& violation : GetFieldViolations(dataset.status())) {
    fields.push_back(violation.field);
  }
  EXPECT_THAT(fields, testing::UnorderedElementsAre(
                          "header.dataset_id", "header.request_id", "header.sha256",
                          "header.parts[0]", "header.parts[1]", "header.parts[2].square.name",
                          "header.parts[2].square.kind", "header.parts[2].square.columns"));
}

TEST_F(DatasetUploadTest, EmptyUploadIsRefused) {
  const auto dataset = Upload({Header(kCsvHeader)});
  EXPECT_EQ(dataset.status().code(), absl::StatusCode::kInvalidArgument) << dataset.status();
}

TEST_F(DatasetUploadTest, QualityIsToldInFullAndNotInLists) {
  std::string csv = "a,b,c,copy,y\n";
  for (int row = 0; row < 40; ++row) {
    const std::string a = row == 5 ? "" : std::to_string(row % 7);
    csv += a + ",same," + std::to_string(row % 3) + "," + std::to_string(row % 3) + "," +
           (row % 3 == 0 ? "no" : "yes") + "\n";
  }
  const auto dataset =
      Upload({Header("dataset_id: 'q' parts { csv { allow_missing: true roles { key: 'y' value: "
                     "COLUMN_ROLE_TARGET } } }"),
              Chunk(0, csv)});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const v1::DataQuality& quality = dataset->quality();
  ASSERT_EQ(quality.missing_size(), 1);
  EXPECT_EQ(quality.missing(0).ShortDebugString(),
            "column { block: \"features\" position: 1 name: \"a\" } count: 1 rows: 6");
  ASSERT_EQ(quality.constant_columns_size(), 1);
  EXPECT_EQ(quality.constant_columns(0).name(), "b");
  ASSERT_EQ(quality.equal_columns_size(), 1);
  EXPECT_EQ(quality.equal_columns(0).column().name(), "copy");
  EXPECT_EQ(quality.equal_columns(0).equal_to().name(), "c");
  EXPECT_EQ(quality.num_duplicate_rows(), 40 - 21 - 1)
      << "of 21 pairs of residues, and one missing";
  EXPECT_EQ(quality.num_conflicting_rows(), 0);
  v1::GetDatasetRequest get;
  get.set_name("datasets/q");
  EXPECT_FALSE(DatasetHandlers(context_).GetDataset(get)->has_quality()) << "the summary";
  get.set_view(v1::DATASET_VIEW_FULL);
  EXPECT_EQ(DatasetHandlers(context_).GetDataset(get)->quality().SerializeAsString(),
            quality.SerializeAsString());
  get.set_view(v1::DATASET_VIEW_BASIC);
  EXPECT_FALSE(DatasetHandlers(context_).GetDataset(get)->has_quality());
  EXPECT_FALSE(DatasetHandlers(context_).ListDatasets({})->datasets(0).has_quality());
}

}  // namespace
}  // namespace mercer::server
