#include "server/app/access/tls.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>

#include "core/base/status/errors.h"
#include "server/app/access/access_control.h"
#include "tests/support/server/certificates.h"

namespace mercer::server {
namespace {

using ::testing::HasSubstr;

constexpr char kHost[] = "mercer.test";

class TlsTest : public ::testing::Test {
 protected:
  TlsTest()
      : authority_("authority of the test"),
        folder_(std::filesystem::temp_directory_path() /
                absl::StrCat("mercer_tls_", getpid(), "_",
                             ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(folder_);
    files_.certificate = folder_ + "/server.pem";
    files_.key = folder_ + "/server.key";
    Install(authority_.Issue(kHost));
  }
  ~TlsTest() override { std::filesystem::remove_all(folder_); }

  static void Write(const std::string& path, const std::string& text) {
    { std::ofstream(path + ".new") << text; }
    std::filesystem::rename(path + ".new", path);
  }
  void Install(const PemPair& pair) const {
    Write(files_.certificate, pair.certificate);
    Write(files_.key, pair.key);
  }
  void RequireClients() {
    files_.client_ca = folder_ + "/clients.pem";
    Write(files_.client_ca, authority_.certificate());
  }
  std::string Complaint() const {
    const absl::Status status = TlsCertificates::Load(files_, absl::Now()).status();
    EXPECT_EQ(GetReason(status), "BAD_CERTIFICATE") << status;
    return std::string(status.message());
  }

  void Serve() {
    auto certificates = TlsCertificates::Load(files_, absl::Now());
    ASSERT_TRUE(certificates.ok()) << certificates.status();
    certificates_ = *std::move(certificates);
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&service_);
    builder.AddListeningPort("127.0.0.1:0", certificates_->Credentials(), &port_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  // Whether a client that trusts `roots`, expects `host` and shows `identity` gets through.
  bool Connects(const std::string& roots, const std::string& host,
                const PemPair& identity = {}) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = roots;
    options.pem_cert_chain = identity.certificate;
    options.pem_private_key = identity.key;
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride(host);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel = grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port_),
                                                   grpc::SslCredentials(options), arguments);
    const auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(20);
    grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
    while (state != GRPC_CHANNEL_READY && state != GRPC_CHANNEL_TRANSIENT_FAILURE &&
           channel->WaitForStateChange(state, deadline)) {
      state = channel->GetState(true);
    }
    return state == GRPC_CHANNEL_READY;
  }

  TestAuthority authority_;
  const std::string folder_;
  TlsFiles files_;
  int port_ = 0;
  grpc::CallbackGenericService service_;  // answers UNIMPLEMENTED: handshakes are enough here
  std::unique_ptr<TlsCertificates> certificates_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(TlsTest, AGoodPairIsAccepted) {
  EXPECT_TRUE(TlsCertificates::Load(files_, absl::Now()).ok());
  RequireClients();
  EXPECT_TRUE(TlsCertificates::Load(files_, absl::Now()).ok());
}

TEST_F(TlsTest, EveryFlawIsNamedWithItsFile) {
  const PemPair good = authority_.Issue(kHost);
  Install({authority_.Issue(kHost).certificate, good.key});
  EXPECT_THAT(Complaint(), HasSubstr("is not the key of"));
  Install({"", good.key});
  EXPECT_THAT(Complaint(), HasSubstr("server.pem"));
  Install({"not a certificate", good.key});
  EXPECT_THAT(Complaint(), HasSubstr("no certificate"));
  Install({good.certificate, "not a key"});
  EXPECT_THAT(Complaint(), HasSubstr("no private key"));
  Install(authority_.Issue(kHost, absl::Now() - absl::Hours(2), absl::Now() - absl::Hours(1)));
  EXPECT_THAT(Complaint(), HasSubstr("expired"));
  Install(authority_.Issue(kHost, absl::Now() + absl::Hours(1), absl::Now() + absl::Hours(2)));
  EXPECT_THAT(Complaint(), HasSubstr("not valid yet"));
  Install(good);
  files_.client_ca = folder_ + "/missing.pem";
  EXPECT_THAT(Complaint(), HasSubstr("missing.pem"));
  files_ = {files_.certificate, "", ""};
  EXPECT_THAT(Complaint(), HasSubstr("private key"));
}

TEST_F(TlsTest, ClientsCheckAuthorityAndName) {
  Serve();
  EXPECT_TRUE(Connects(authority_.certificate(), kHost));
  EXPECT_FALSE(Connects(authority_.certificate(), "other.test"));
  EXPECT_FALSE(Connects(TestAuthority("somebody else").certificate(), kHost));
}

TEST_F(TlsTest, WithAnAuthorityForClientsStrangersStayOutside) {
  RequireClients();
  Serve();
  EXPECT_TRUE(Connects(authority_.certificate(), kHost, authority_.Issue("client")));
  EXPECT_FALSE(Connects(authority_.certificate(), kHost));
  TestAuthority other("somebody else");
  EXPECT_FALSE(Connects(authority_.certificate(), kHost, other.Issue("client")));
}

TEST_F(TlsTest, NewFilesAreUsedWithoutARestart) {
  Serve();
  TestAuthority next("the next authority");
  EXPECT_FALSE(Connects(next.certificate(), kHost));
  Install(next.Issue(kHost));
  EXPECT_TRUE(*certificates_->Reload(absl::Now()));
  EXPECT_FALSE(*certificates_->Reload(absl::Now())) << "they are the same";
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  bool connected = false;
  while (!connected && absl::Now() < deadline) {
    connected = Connects(next.certificate(), kHost);
  }
  EXPECT_TRUE(connected);
}

// As HTTP does, which is opened after the files were read.
TEST_F(TlsTest, AListenerHearsOfCertificatesThatWereRenewedBeforeItCame) {
  AccessOptions options;
  options.tls = files_;
  options.reload_interval = absl::Hours(1);
  auto log =
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
  const auto access = AccessControl::Open(options, std::move(log));
  ASSERT_TRUE(access.ok()) << access.status();
  const PemPair renewed = authority_.Issue(kHost);
  Install(renewed);
  (*access)->Reload();
  std::string heard;
  (*access)->SetCertificateListener([&](const TlsTexts& texts) { heard = texts.certificate; });
  EXPECT_EQ(heard, renewed.certificate);
  (*access)->SetCertificateListener(nullptr);
}

TEST_F(TlsTest, FilesThatDoNotFitTogetherAreLeftAside) {
  Serve();
  Write(files_.key, authority_.Issue(kHost).key);
  EXPECT_EQ(GetReason(certificates_->Reload(absl::Now()).status()), "BAD_CERTIFICATE");
  Write(files_.key, "");
  EXPECT_EQ(GetReason(certificates_->Reload(absl::Now()).status()), "BAD_CERTIFICATE");
  // Longer than it takes gRPC to look at its files.
  const absl::Time end = absl::Now() + absl::Seconds(2);
  while (absl::Now() < end) {
    EXPECT_TRUE(Connects(authority_.certificate(), kHost));
  }
}

}  // namespace
}  // namespace mercer::server
