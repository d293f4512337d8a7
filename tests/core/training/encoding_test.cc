#include "core/training/encoding/encoding.h"

#include <gtest/gtest.h>

namespace mercer {
namespace {

// The number of starts is one more than the number of columns, also when there are none.
TEST(EncodingTest, SparseMatrixWithoutStartsIsDamaged) {
  ByteWriter writer;
  writer.WriteInt64(3);
  writer.WriteInt64(-1);
  writer.WriteIndices({});
  writer.WriteIndices({});
  writer.WriteDoubles({});
  ByteReader reader(writer.bytes());
  ReadSparse(reader);
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace mercer
