// "mercer update": what is changed of a model, and what of a version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cpp/cli/command_line_fixture.h"

namespace mercer::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ModelUpdateTest : public CommandLineTest {};

TEST_F(ModelUpdateTest, ANameAloneIsTheModel) {
  EXPECT_EQ(Run({"update", "spam", "--label", "team=a", "--display-name", "Spam", "--etag", "7"}),
            0)
      << err_.str();
  const v1::UpdateModelRequest& request = server_.state.model_update;
  EXPECT_EQ(request.model().name(), "models/spam");
  EXPECT_EQ(request.model().etag(), "7");
  EXPECT_EQ(request.model().display_name(), "Spam");
  EXPECT_EQ(request.model().labels().at("team"), "a");
  EXPECT_THAT(request.update_mask().paths(), ElementsAre("labels", "display_name"));
}

TEST_F(ModelUpdateTest, AVersionOrAnAliasIsTheVersion) {
  for (const auto& [given, name] : {std::pair("spam/versions/2", "models/spam/versions/2"),
                                    std::pair("spam@live", "models/spam/aliases/live")}) {
    EXPECT_EQ(Run({"update", given, "--description", "good"}), 0) << err_.str();
    const v1::UpdateModelVersionRequest& request = server_.state.version_update;
    EXPECT_EQ(request.model_version().name(), name);
    EXPECT_EQ(request.model_version().description(), "good");
    EXPECT_THAT(request.update_mask().paths(), ElementsAre("description"));
    EXPECT_NE(Run({"update", given, "--display-name", "x"}), 0) << given;
    EXPECT_THAT(err_.str(), HasSubstr("--display-name")) << given;
  }
  EXPECT_NE(Run({"update", "spam"}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("nothing to change"));
}

}  // namespace
}  // namespace mercer::client
