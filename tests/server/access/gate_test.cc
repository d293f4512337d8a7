#include "server/access/gate.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

class GateTest : public ::testing::Test {
 protected:
  GateTest()
      : path_(std::filesystem::temp_directory_path() /
              absl::StrCat("mercer_gate_", getpid(), "_",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~GateTest() override { std::filesystem::remove(path_); }

  void Write(const std::string& text) const { std::ofstream(path_) << text; }
  static std::string Line(const std::string& name, const char* scopes, const char* token) {
    return *TokenLine(name, *ParseScopes(scopes), token) + "\n";
  }
  std::unique_ptr<Gate> Open() const {
    absl::StatusOr<std::unique_ptr<Gate>> gate = Gate::FromFile(path_);
    EXPECT_TRUE(gate.ok()) << gate.status();
    return gate.ok() ? *std::move(gate) : nullptr;
  }
  static std::string Reason(const Gate& gate, const std::vector<std::string_view>& header,
                            Scope scope = Scope::kRead) {
    return GetReason(gate.Admit(header, scope, kNow).status());
  }

  const std::string path_;
};

TEST_F(GateTest, AnOpenGateAdmitsEverybodyToEverything) {
  const Gate gate;
  const absl::StatusOr<Caller> caller = gate.Admit({}, Scope::kAdmin, kNow);
  ASSERT_TRUE(caller.ok());
  EXPECT_EQ(caller->name, "anyone");
  EXPECT_TRUE(gate.open());
}

TEST_F(GateTest, AdmitsTheHolderWithinHisScopes) {
  Write(Line("ada", "read", "abc"));
  const auto gate = Open();
  const absl::StatusOr<Caller> caller = gate->Admit({"Bearer abc"}, Scope::kRead, kNow);
  ASSERT_TRUE(caller.ok()) << caller.status();
  EXPECT_EQ(caller->name, "ada");
  EXPECT_TRUE(gate->Admit({"bearer abc"}, Scope::kRead, kNow).ok());
  const absl::Status refused = gate->Admit({"Bearer abc"}, Scope::kTrain, kNow).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(GetReason(refused), "SCOPE_MISSING");
}

TEST_F(GateTest, EveryMalformedHeaderIsRefused) {
  Write(Line("ada", "read", "abc"));
  const auto gate = Open();
  EXPECT_EQ(Reason(*gate, {}), "TOKEN_MISSING");
  const std::string message(gate->Admit({}, Scope::kRead, kNow).status().message());
  EXPECT_NE(message.find("'authorization: Bearer TOKEN', over HTTP as a header, over gRPC as meta"),
            std::string::npos)
      << message;
  const std::string huge = "Bearer " + std::string(100'000, 'x');
  for (const std::string& header :
       {std::string(), std::string("abc"), std::string("Bearer"), std::string("Bearer "),
        std::string("Basic abc"), std::string("Bearer abc "), std::string("Bearer a bc"), huge,
        std::string("Bearer\tabc")}) {
    EXPECT_EQ(Reason(*gate, {header}), "TOKEN_MALFORMED") << header.substr(0, 20);
  }
  EXPECT_EQ(Reason(*gate, {"Bearer abc", "Bearer abc"}), "TOKEN_MALFORMED");
  EXPECT_EQ(Reason(*gate, {"Bearer abcd"}), "TOKEN_UNKNOWN");
}

TEST_F(GateTest, ReloadRevokesAndAdmits) {
  Write(Line("ada", "read", "abc"));
  const auto gate = Open();
  EXPECT_FALSE(*gate->Reload());
  Write(Line("bob", "read", "def"));
  EXPECT_TRUE(*gate->Reload());
  EXPECT_EQ(Reason(*gate, {"Bearer abc"}), "TOKEN_UNKNOWN");
  EXPECT_EQ(Reason(*gate, {"Bearer def"}), "");
}

TEST_F(GateTest, ABadFileLeavesTheTokensAsTheyWere) {
  Write(Line("ada", "read", "abc"));
  const auto gate = Open();
  Write("ada read nonsense\n");
  EXPECT_EQ(GetReason(gate->Reload().status()), "BAD_TOKEN_FILE");
  EXPECT_EQ(Reason(*gate, {"Bearer abc"}), "");
  std::filesystem::remove(path_);
  EXPECT_EQ(GetReason(gate->Reload().status()), "TOKEN_FILE_UNREADABLE");
  EXPECT_EQ(Reason(*gate, {"Bearer abc"}), "");
}

TEST_F(GateTest, AFileThatIsCutOffLeavesTheTokensAsTheyWere) {
  const std::string ada = Line("ada", "read", "abc");
  const std::string whole = ada + Line("bob", "read", "def");
  Write(whole);
  const auto gate = Open();
  for (size_t size = 1; size < whole.size(); ++size) {
    if (size != ada.size()) {  // a whole line is no proof of a second one
      Write(whole.substr(0, size));
      EXPECT_FALSE(gate->Reload().ok()) << size;
      EXPECT_EQ(Reason(*gate, {"Bearer abc"}), "") << size;
      EXPECT_EQ(Reason(*gate, {"Bearer def"}), "") << size;
    }
  }
  Write("# nobody\n");
  EXPECT_TRUE(gate->Reload().ok());
  EXPECT_EQ(Reason(*gate, {"Bearer abc"}), "TOKEN_UNKNOWN");
}

TEST_F(GateTest, AMissingFileOrAFolderIsRefusedAtTheStart) {
  EXPECT_EQ(GetReason(Gate::FromFile(path_).status()), "TOKEN_FILE_UNREADABLE");
  EXPECT_EQ(GetReason(Gate::FromFile("").status()), "TOKEN_FILE_UNREADABLE");
  EXPECT_EQ(GetReason(Gate::FromFile(std::filesystem::temp_directory_path()).status()),
            "TOKEN_FILE_UNREADABLE");
}

TEST_F(GateTest, CallsDuringAReloadSeeOneTableOrTheOther) {
  const std::string both = Line("ada", "read", "abc");
  Write(both + Line("bob", "read", "def"));
  const auto gate = Open();
  std::atomic<bool> done{false};
  std::thread reloader([&] {
    for (int i = 0; i < 50; ++i) {
      Write(both + Line("bob", i % 2 == 0 ? "train" : "read", "def"));
      EXPECT_TRUE(gate->Reload().ok());
    }
    done = true;
  });
  while (!done) {
    EXPECT_TRUE(gate->Admit({"Bearer abc"}, Scope::kRead, kNow).ok());
  }
  reloader.join();
}

}  // namespace
}  // namespace mercer::server
