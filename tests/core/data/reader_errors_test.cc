#include "core/data/table/reader_errors.h"

#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer {
namespace {

// Whatever a file calls its columns, the values of an error can travel as text.
TEST(ReaderErrorsTest, NamesThatAreNoTextAreEscaped) {
  const ErrorMetadata header = {{"column", "\\216a"}};
  EXPECT_EQ(GetErrorMetadata(HeaderError("\x8E"
                                         "a",
                                         "bad")),
            header);
  const ErrorMetadata cell = {{"row", "2"}, {"column", "\\377"}};
  EXPECT_EQ(GetErrorMetadata(CellError(2, "\xFF", "bad")), cell);
  const ErrorMetadata plain = {{"row", "2"}, {"column", "caf\xC3\xA9"}};
  EXPECT_EQ(GetErrorMetadata(CellError(2, "caf\xC3\xA9", "bad")), plain);
}

}  // namespace
}  // namespace mercer
