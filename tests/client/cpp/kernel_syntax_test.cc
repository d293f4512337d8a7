#include "client/cpp/kernel_syntax.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

namespace mercer::client {
namespace {

void ExpectKernel(const std::string& text, const std::string& expected) {
  const absl::StatusOr<v1::KernelGrid> kernel = ParseKernel(text);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  v1::KernelGrid wanted;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(expected, &wanted)) << expected;
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*kernel, wanted))
      << text << " gave\n"
      << kernel->DebugString();
}

void ExpectRefused(const std::string& text, const std::string& part) {
  const absl::StatusOr<v1::KernelGrid> kernel = ParseKernel(text);
  ASSERT_FALSE(kernel.ok()) << kernel->DebugString();
  EXPECT_EQ(kernel.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(kernel.status().message()).find(part), std::string::npos)
      << kernel.status();
}

TEST(KernelSyntaxTest, ReadsTypesAndFields) {
  ExpectKernel("linear", "type: KERNEL_TYPE_LINEAR");
  ExpectKernel("gaussian bandwidth=0.5 per_column",
               "type: KERNEL_TYPE_GAUSSIAN bandwidth: 0.5 per_column: true");
  ExpectKernel("polynomial degree=2 scale=0.5 offset=0",
               "type: KERNEL_TYPE_POLYNOMIAL degree: 2 scale: 0.5 offset: 0");
  ExpectKernel("distance block=video bandwidth=10",
               "type: KERNEL_TYPE_DISTANCE block: 'video' bandwidth: 10");
}

TEST(KernelSyntaxTest, TypesMayUseDashesAndCapitals) {
  ExpectKernel("Chi-Square per-column=false", "type: KERNEL_TYPE_CHI_SQUARE");
}

TEST(KernelSyntaxTest, TypingErrorsAreAnsweredWithTheWordThatIsMeant) {
  ExpectRefused("gausian bandwidth=1", "; did you mean 'gaussian'?");
  ExpectRefused("rbf", "; did you mean 'gaussian'?");
  ExpectRefused("poly degree=2", "; did you mean 'polynomial'?");
  ExpectRefused("gaussian bandwith=1", "; did you mean 'bandwidth' or 'bandwidths'?");
  ExpectRefused("gaussian sigma=1", "; did you mean 'bandwidth'?");
  ExpectRefused("polynomial coef0=1", "; did you mean 'offset'?");
}

// exp(-gamma d^2) = exp(-d^2 / (2 bandwidth^2)) at bandwidth = 1 / sqrt(2 gamma).
TEST(KernelSyntaxTest, GammaIsRefusedWithWhatItStandsFor) {
  ExpectRefused("gaussian gamma=0.5",
                "gamma: kernels have a bandwidth, 1 / sqrt(2 gamma): bandwidth=1");
  ExpectRefused("gaussian gamma=0.02", ": bandwidth=5");
  ExpectRefused("gaussian gamma=scale", "'median' takes it from the data");
  ExpectRefused("gaussian gamma=0", "'median' takes it from the data");
  ExpectRefused("laplacian gamma=0.5", "here 1 / gamma: bandwidth=2");
  ExpectRefused("chi_square gamma=0.5", "here 1 / (2 gamma): bandwidth=1");
  ExpectRefused("polynomial gamma=0.5", "is called scale here: scale=0.5");
}

TEST(KernelSyntaxTest, ReadsListsOfBandwidths) {
  ExpectKernel("laplacian bandwidths=1,2,4e1",
               "type: KERNEL_TYPE_LAPLACIAN bandwidths: [1, 2, 40]");
}

TEST(KernelSyntaxTest, ReadsLogarithmicRanges) {
  const std::string expected =
      "type: KERNEL_TYPE_GAUSSIAN rule: BANDWIDTH_RULE_LOG_SPACED min_bandwidth: 1 "
      "max_bandwidth: 100 count: 12";
  ExpectKernel("gaussian bandwidths=1..100:12", expected);
  ExpectKernel("gaussian min_bandwidth=1 max_bandwidth=100 count=12", expected);
}

TEST(KernelSyntaxTest, ReadsMedianAndItsMultiples) {
  ExpectKernel("gaussian median",
               "type: KERNEL_TYPE_GAUSSIAN rule: BANDWIDTH_RULE_MEDIAN_MULTIPLES");
  ExpectKernel("gaussian median=0.5,2",
               "type: KERNEL_TYPE_GAUSSIAN rule: BANDWIDTH_RULE_MEDIAN_MULTIPLES "
               "bandwidths: [0.5, 2]");
  ExpectKernel("gaussian median=0.1..10:20",
               "type: KERNEL_TYPE_GAUSSIAN rule: BANDWIDTH_RULE_MEDIAN_MULTIPLES "
               "min_bandwidth: 0.1 max_bandwidth: 10 count: 20");
  ExpectKernel("gaussian", "type: KERNEL_TYPE_GAUSSIAN");
}

TEST(KernelSyntaxTest, ReadsNormalization) {
  ExpectKernel("linear unit_diagonal scaling=mean_diagonal",
               "type: KERNEL_TYPE_LINEAR normalization { unit_diagonal: true scaling: "
               "KERNEL_SCALING_MEAN_DIAGONAL }");
}

TEST(KernelSyntaxTest, QuotesKeepSpacesAndCommas) {
  ExpectKernel("gaussian columns=age,\"first, last\"  bandwidth=2",
               "type: KERNEL_TYPE_GAUSSIAN columns: ['age', 'first, last'] bandwidth: 2");
}

TEST(KernelSyntaxTest, NamesAndGroupsMayStandInQuotes) {
  ExpectKernel("gaussian bandwidths=0.1..10:5 group=colour name=hsv",
               "type: KERNEL_TYPE_GAUSSIAN rule: BANDWIDTH_RULE_LOG_SPACED min_bandwidth: 0.1 "
               "max_bandwidth: 10 count: 5 group: 'colour' name: 'hsv'");
  ExpectKernel("linear name=\"hue, saturation\" group=\"two words\" block=\"a b\"",
               "type: KERNEL_TYPE_LINEAR name: 'hue, saturation' group: 'two words' block: 'a b'");
  ExpectRefused("linear name", "name: is empty");
  ExpectRefused("linear group=\"\"", "group: is empty");
  ExpectRefused("linear nam=a", "did you mean 'name'?");
}

TEST(KernelSyntaxTest, AWordMayOccurOnce) {
  ExpectRefused("gaussian bandwidth=1 bandwidth=2", "bandwidth: is given twice");
  ExpectRefused("linear per_column per-column", "per_column: is given twice");
  ExpectRefused("linear columns=a columns=b", "columns: is given twice");
  ExpectRefused("linear name=a name=b", "name: is given twice");
}

TEST(KernelSyntaxTest, BandwidthsComeFromOneWordOnly) {
  for (const char* const widths :
       {"bandwidths=1,2 median", "median bandwidths=1,2", "bandwidth=1 median",
        "median=2 bandwidth=1", "bandwidths=1..10:3 median", "median bandwidths=1..10:3",
        "bandwidth=1 bandwidths=2,3", "bandwidths=1,2 count=3", "min_bandwidth=1 median",
        "rule=list median", "bandwidths=1..10:3 rule=list", "median=1..10:3 bandwidth=1",
        "median=1..10:3 count=3"}) {
    ExpectRefused(std::string("gaussian ") + widths, "has said which bandwidths already");
  }
  ExpectRefused("gaussian bandwidths=1,2 median", "median: 'bandwidths' has said");
  ExpectKernel(
      "gaussian rule=median_multiples bandwidths=1,2",
      "type: KERNEL_TYPE_GAUSSIAN rule: BANDWIDTH_RULE_MEDIAN_MULTIPLES bandwidths: [1, 2]");
}

TEST(KernelSyntaxTest, ErrorsSayWhatIsAllowed) {
  ExpectRefused("", "one of linear, polynomial, gaussian");
  ExpectRefused("gausian", "one of linear, polynomial, gaussian");
  ExpectRefused("gaussian width=1", "width: unknown word; allowed are median, bandwidth");
  ExpectRefused("gaussian bandwidth=wide", "bandwidth: must be a number, is 'wide'");
  ExpectRefused("gaussian bandwidths=1..x:3", "bandwidths: must be FIRST..LAST:COUNT");
  ExpectRefused("gaussian median=1..x:3", "median: must be FIRST..LAST:COUNT, is '1..x:3'");
  ExpectRefused("linear scaling=unit", "scaling: must be one of none, trace");
  ExpectRefused("linear columns=\"a", "a quote is not closed");
  ExpectRefused("linear type=gaussian", "unknown word");
}

}  // namespace
}  // namespace mercer::client
