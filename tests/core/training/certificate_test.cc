#include "core/training/model/certificate.h"

#include <gtest/gtest.h>

namespace mercer {
namespace {

TEST(CertificateTest, RelativeGapDividesByTheLargerMagnitude) {
  EXPECT_DOUBLE_EQ(RelativeGap(10, 9), 0.1);
  EXPECT_DOUBLE_EQ(RelativeGap(-9, -10), 0.1);
  EXPECT_EQ(RelativeGap(0, 0), 0);
}

TEST(CertificateTest, SumAddsBoundsAndKeepsTheWorstAccuracy) {
  const Certificate total =
      SumCertificates({MakeGapCertificate(10, 9), MakeGapCertificate(90, 90)});
  EXPECT_DOUBLE_EQ(total.primal, 100);
  EXPECT_DOUBLE_EQ(total.dual, 99);
  EXPECT_DOUBLE_EQ(total.accuracy, 0.01);
  EXPECT_DOUBLE_EQ(total.worst_accuracy, 0.1);
  ASSERT_EQ(total.outputs.size(), 2u);
  EXPECT_DOUBLE_EQ(total.outputs[0].dual, 9);
}

TEST(CertificateTest, SumClaimsNoMoreThanItsWeakestPart) {
  Certificate weak = MakeGapCertificate(1, 1);
  weak.kind = CertificateKind::kNone;
  weak.scope = CertificateScope::kLowRankProblem;
  const Certificate total = SumCertificates({MakeGapCertificate(1, 1), weak});
  EXPECT_EQ(total.kind, CertificateKind::kNone);
  EXPECT_EQ(total.scope, CertificateScope::kLowRankProblem);
}

// The bytes of docs/formats/model.md.
TEST(CertificateTest, SavedFormIsThatOfTheFormat) {
  const Certificate total =
      SumCertificates({MakeGapCertificate(1.0 / 3, 0.1), MakeGapCertificate(2e-310, -1e300)});
  ByteWriter writer;
  writer.WriteUint8(0);
  writer.WriteUint8(0);
  for (const double value : {total.primal, total.dual, total.accuracy, total.worst_accuracy}) {
    writer.WriteDouble(value);
  }
  writer.WriteUint64(2);
  for (const double value : {1.0 / 3, 0.1, 2e-310, -1e300}) {
    writer.WriteDouble(value);
  }
  EXPECT_EQ(SaveFields(total), writer.bytes());
  Certificate back;
  ASSERT_TRUE(LoadFields(writer.bytes(), back));
  EXPECT_EQ(SaveFields(back), writer.bytes());
}

}  // namespace
}  // namespace mercer
