#include "core/io/store/dataset_file.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/data/data_test_util.h"

namespace mercer {
namespace {

// One of everything.
Dataset SmallDataset() {
  CsvOptions options;
  options.allow_missing = true;
  options.roles = {{"y", ColumnRole::kTarget}, {"g", ColumnRole::kGroup}};
  options.blocks = {{"left", {"a", "c"}}, {"right", {"b"}}};
  Dataset dataset =
      *ReadCsvText("a,b,c,y,g\n1,2,red,no,1\nNA,3,blue,yes,2\n4,1e300,,no,3\n", options);
  FeatureBlock sparse;
  sparse.name = "sparse";
  sparse.is_sparse = true;
  sparse.sparse = {1000, {0, 2, 2, 3}, {5, 999, 0}, {1.5, -2, 3}};
  dataset.blocks.push_back(sparse);
  dataset.squares.push_back(
      {"kernel", SquareKind::kKernel, SharedMatrix(RowMatrix::Identity(3, 3))});
  dataset.squares.push_back(
      {"distance", SquareKind::kDistance, SharedMatrix(RowMatrix::Constant(3, 5, 0.25))});
  return dataset;
}

void ExpectAligned(const SharedMatrix& matrix) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(matrix.view().data()) % 64, 0u);
}

void ExpectEqual(const Dataset& read, const Dataset& written) {
  EXPECT_EQ(read.rows, written.rows);
  ASSERT_EQ(read.blocks.size(), written.blocks.size());
  for (size_t i = 0; i < read.blocks.size(); ++i) {
    const FeatureBlock& block = read.blocks[i];
    const FeatureBlock& other = written.blocks[i];
    EXPECT_EQ(block.name, other.name);
    EXPECT_EQ(block.is_sparse, other.is_sparse);
    EXPECT_EQ(block.num_columns(), other.num_columns());
    EXPECT_EQ(block.sparse.row_starts, other.sparse.row_starts);
    EXPECT_EQ(block.sparse.column_indices, other.sparse.column_indices);
    EXPECT_EQ(block.sparse.values, other.sparse.values);
    ASSERT_EQ(block.columns.size(), other.columns.size());
    for (size_t column = 0; column < block.columns.size(); ++column) {
      EXPECT_EQ(block.columns[column].name, other.columns[column].name);
      EXPECT_EQ(block.columns[column].categorical, other.columns[column].categorical);
      EXPECT_EQ(block.columns[column].categories, other.columns[column].categories);
    }
    if (!block.is_sparse) {
      ExpectAligned(block.values);
      const auto same =
          (block.values.view().array() == other.values.view().array()) ||
          (block.values.view().array().isNaN() && other.values.view().array().isNaN());
      EXPECT_TRUE(same.all()) << block.name;
    }
  }
  ASSERT_EQ(read.squares.size(), written.squares.size());
  for (size_t i = 0; i < read.squares.size(); ++i) {
    EXPECT_EQ(read.squares[i].name, written.squares[i].name);
    EXPECT_EQ(read.squares[i].kind, written.squares[i].kind);
    EXPECT_EQ(read.squares[i].values.view(), written.squares[i].values.view());
    ExpectAligned(read.squares[i].values);
  }
  ASSERT_EQ(read.role_columns.size(), written.role_columns.size());
  for (size_t i = 0; i < read.role_columns.size(); ++i) {
    EXPECT_EQ(read.role_columns[i].role, written.role_columns[i].role);
    EXPECT_EQ(read.role_columns[i].schema.name, written.role_columns[i].schema.name);
    EXPECT_EQ(read.role_columns[i].schema.categories, written.role_columns[i].schema.categories);
    EXPECT_EQ(read.role_columns[i].values, written.role_columns[i].values);
  }
}

TEST(DatasetFileTest, DecodesWhatItEncodes) {
  const Dataset dataset = SmallDataset();
  const auto read = DecodeDataset(Encode(dataset));
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectEqual(*read, dataset);
}

// The layout that dataset_file.cc describes, byte by byte.
TEST(DatasetFileTest, BytesAreThoseOfTheFormat) {
  ByteWriter header;
  header.WriteInt64(2);   // rows
  header.WriteUint64(1);  // blocks
  header.WriteString("features");
  header.WriteBool(false);  // dense
  header.WriteInt64(2);
  header.WriteUint64(0);  // entries of sparse rows
  header.WriteUint64(2);  // columns
  header.WriteString("a");
  header.WriteBool(false);
  header.WriteStrings({});
  header.WriteString("c");
  header.WriteBool(true);  // categorical
  header.WriteStrings({"red", "blue"});
  header.WriteUint64(0);  // square blocks
  header.WriteUint64(1);  // columns with a role
  header.WriteUint8(1);   // target
  header.WriteString("y");
  header.WriteBool(false);
  header.WriteStrings({});
  const auto padded = [](std::string bytes) {
    bytes.resize((bytes.size() + 63) / 64 * 64, '\0');
    return bytes;
  };
  const auto doubles = [](const std::vector<double>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * 8);
  };
  const std::string sections = padded(doubles({1, 0, 3, 1})) + padded(doubles({2, 4}));
  ByteWriter prefix;
  prefix.WriteUint64(1);  // version
  prefix.WriteUint64(header.bytes().size());
  prefix.WriteUint64(padded(std::string(32, ' ') + header.bytes()).size() + sections.size());
  const std::string bytes = padded("MERCERDS" + prefix.bytes() + header.bytes()) + sections;

  CsvOptions options;
  options.roles = {{"y", ColumnRole::kTarget}};
  const Dataset dataset = *ReadCsvText("a,c,y\n1,red,2\n3,blue,4\n", options);
  EXPECT_EQ(Encode(dataset), bytes);
  const auto read = DecodeDataset(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectEqual(*read, dataset);
}

TEST(DatasetFileTest, MappedMatricesOutliveTheCall) {
  const std::string path = testing::TempDir() + "mercer_dataset_file_test.bin";
  std::ofstream(path, std::ios::binary) << Encode(SmallDataset());
  const auto read = OpenDataset(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectEqual(*read, SmallDataset());
}

TEST(DatasetFileTest, EqualDataSetsGiveEqualBytes) {
  const std::string bytes = Encode(SmallDataset());
  EXPECT_EQ(bytes, Encode(*DecodeDataset(bytes)));
  Dataset one = *ReadCsvText("a\n1\n2\n");
  Dataset other = one;
  one.blocks[0].values =
      SharedMatrix(RowMatrix::Constant(2, 1, std::numeric_limits<double>::quiet_NaN()));
  other.blocks[0].values = SharedMatrix(RowMatrix::Constant(2, 1, -std::nan("7")));
  EXPECT_EQ(Encode(one), Encode(other)) << "NaN has one form";
}

TEST(DatasetFileTest, EveryTruncationIsRefused) {
  const std::string bytes = Encode(SmallDataset());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(DecodeDataset(std::string_view(bytes).substr(0, size)).status().code(),
              absl::StatusCode::kDataLoss)
        << size;
  }
  EXPECT_EQ(DecodeDataset(bytes + std::string(64, '\0')).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST(DatasetFileTest, FlippedBitsNeverCrash) {
  const std::string bytes = Encode(SmallDataset());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      const auto read = DecodeDataset(damaged);
      if (read.ok()) {
        EXPECT_TRUE(ValidateDataset(*read).ok()) << "byte " << i << ", bit " << bit;
      } else {
        EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss)
            << "byte " << i << ", bit " << bit << read.status();
      }
    }
  }
}

TEST(DatasetFileTest, OverwrittenHeaderWordsNeverCrash) {
  const std::string bytes = Encode(SmallDataset());
  for (size_t i = 0; i + 8 <= bytes.size(); ++i) {
    for (const uint64_t word : {~uint64_t{0}, uint64_t{1} << 63, uint64_t{1} << 40, uint64_t{0}}) {
      std::string damaged = bytes;
      std::memcpy(damaged.data() + i, &word, sizeof(word));
      const auto read = DecodeDataset(damaged);
      EXPECT_TRUE(read.ok() || read.status().code() == absl::StatusCode::kDataLoss)
          << "byte " << i << read.status();
    }
  }
}

TEST(DatasetFileTest, RefusesOtherFilesAndVersions) {
  EXPECT_EQ(DecodeDataset("").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeDataset(std::string(1000, 'x')).status().code(), absl::StatusCode::kDataLoss);
  std::string newer = Encode(SmallDataset());
  newer[8] = 2;
  EXPECT_THAT(std::string(DecodeDataset(newer).status().message()),
              ::testing::HasSubstr("version 2"));
  EXPECT_EQ(OpenDataset(testing::TempDir() + "mercer_no_such_file").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(DatasetFileTest, ErrorOfTheSinkIsPassedOn) {
  class FullSink : public ByteSink {
   public:
    explicit FullSink(size_t capacity) : capacity_(capacity) {}
    absl::Status Write(std::string_view bytes) override {
      if (bytes.size() > capacity_) {
        return absl::ResourceExhaustedError("full");
      }
      capacity_ -= bytes.size();
      return absl::OkStatus();
    }

   private:
    size_t capacity_;
  };
  const Dataset dataset = SmallDataset();
  const size_t size = Encode(dataset).size();
  for (size_t capacity = 0; capacity < size; ++capacity) {
    FullSink sink(capacity);
    EXPECT_EQ(EncodeDataset(dataset, sink).code(), absl::StatusCode::kResourceExhausted)
        << capacity;
  }
}

}  // namespace
}  // namespace mercer
