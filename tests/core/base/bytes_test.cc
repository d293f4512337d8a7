#include "core/base/encoding/bytes.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace mercer {
namespace {

std::string EncodeSample() {
  ByteWriter writer;
  writer.WriteUint8(7);
  writer.WriteBool(true);
  writer.WriteInt64(-5);
  writer.WriteDouble(-0.0);
  writer.WriteString(std::string("a\0b", 3));
  writer.WriteStrings({"x", "", "yz"});
  writer.WriteIndices({3, -1});
  writer.WriteDoubles({1.5, std::numeric_limits<double>::infinity()});
  writer.WriteVector(Vector::LinSpaced(3, 0.0, 1.0));
  writer.WriteMatrix(Matrix::Identity(2, 3));
  RowMatrix rows(1, 2);
  rows << 4.0, 5.0;
  writer.WriteRowMatrix(rows);
  return std::move(writer).Take();
}

TEST(BytesTest, RoundTripKeepsEveryValue) {
  const std::string bytes = EncodeSample();
  ByteReader reader(bytes);
  EXPECT_EQ(reader.ReadUint8(), 7);
  EXPECT_TRUE(reader.ReadBool());
  EXPECT_EQ(reader.ReadInt64(), -5);
  EXPECT_TRUE(std::signbit(reader.ReadDouble()));
  EXPECT_EQ(reader.ReadString(), std::string("a\0b", 3));
  EXPECT_EQ(reader.ReadStrings(), (std::vector<std::string>{"x", "", "yz"}));
  EXPECT_EQ(reader.ReadIndices(), (std::vector<Index>{3, -1}));
  EXPECT_EQ(reader.ReadDoubles(),
            (std::vector<double>{1.5, std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(reader.ReadVector(), Vector::LinSpaced(3, 0.0, 1.0));
  EXPECT_EQ(reader.ReadMatrix(), Matrix::Identity(2, 3));
  EXPECT_EQ(reader.ReadRowMatrix()(0, 1), 5.0);
  EXPECT_TRUE(reader.AtEnd());
}

TEST(BytesTest, EveryTruncationIsNoticed) {
  const std::string bytes = EncodeSample();
  for (size_t length = 0; length < bytes.size(); ++length) {
    ByteReader reader(std::string_view(bytes).substr(0, length));
    reader.ReadUint8();
    reader.ReadBool();
    reader.ReadInt64();
    reader.ReadDouble();
    reader.ReadString();
    reader.ReadStrings();
    reader.ReadIndices();
    reader.ReadDoubles();
    reader.ReadVector();
    reader.ReadMatrix();
    reader.ReadRowMatrix();
    EXPECT_FALSE(reader.ok()) << "cut to " << length << " of " << bytes.size();
  }
}

TEST(BytesTest, NumbersEndWithinTheBytes) {
  const std::string bytes(7, '\1');
  ByteReader integer(bytes);
  EXPECT_EQ(integer.ReadInt64(), 0);
  EXPECT_FALSE(integer.ok());
  ByteReader real(bytes);
  EXPECT_EQ(real.ReadDouble(), 0);
  EXPECT_FALSE(real.ok());
  ByteReader none("");
  EXPECT_EQ(none.ReadUint8(), 0);
  EXPECT_FALSE(none.ok());
}

TEST(BytesTest, AbsurdLengthsAllocateNothing) {
  ByteWriter writer;
  writer.WriteUint64(std::numeric_limits<uint64_t>::max());
  writer.WriteUint64(1);
  const std::string bytes = std::move(writer).Take();
  {
    ByteReader reader(bytes);
    EXPECT_TRUE(reader.ReadDoubles().empty());
    EXPECT_FALSE(reader.ok());
  }
  {
    ByteReader reader(bytes);
    EXPECT_EQ(reader.ReadMatrix().size(), 0);
    EXPECT_FALSE(reader.ok());
  }
}

TEST(BytesTest, EmptyMatricesKeepTheirShape) {
  ByteWriter writer;
  writer.WriteMatrix(Matrix(0, 4));
  const std::string bytes = std::move(writer).Take();
  ByteReader reader(bytes);
  const Matrix value = reader.ReadMatrix();
  EXPECT_EQ(value.rows(), 0);
  EXPECT_EQ(value.cols(), 4);
  EXPECT_TRUE(reader.AtEnd());
}

}  // namespace
}  // namespace mercer
