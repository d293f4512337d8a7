// How long a table of 100 MB takes to become a data set: sent over loopback with its digest, as an upload that can be resumed.
// The floor is what no service can leave out, measured in turns with it: the same bytes are hashed, sent over a socket, and there
// hashed, written to a file and synced. Prints one JSON object: the best of each, the median ratio, and the best time from the
// last byte that was sent to the answer.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include <grpcpp/grpcpp.h>

#include "core/base/numeric/random.h"
#include "mercer/v1/dataset_service.grpc.pb.h"
#include "server/app/server.h"
#include "server/blobs/file_system.h"
#include "server/digest/sha256.h"
#include "tests/bench/bench_clouds.h"

namespace mercer::server {
namespace {

constexpr int kRows = 250'000;
constexpr int kFeatures = 50;
constexpr size_t kChunkBytes = size_t{2} << 20;
constexpr int kTurns = 9;

void Require(bool holds, const std::string& what) {
  if (!holds) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(1);
  }
}

double Milliseconds(absl::Time since) { return absl::ToDoubleMilliseconds(absl::Now() - since); }

// Until the sender ends.
void Receive(int socket, const std::string& path, std::string* digest) {
  auto file = PosixFileSystem().Create(path);
  Require(file.ok(), "the file of the floor");
  std::vector<char> piece(kChunkBytes);
  Sha256 hash;
  ssize_t size = 0;
  while ((size = recv(socket, piece.data(), piece.size(), 0)) > 0) {
    const std::string_view bytes(piece.data(), static_cast<size_t>(size));
    hash.Update(bytes);
    Require((*file)->Append(bytes).ok(), "writing");
  }
  Require((*file)->Sync().ok(), "the sync");
  *digest = hash.FinishHex();
}

std::array<int, 2> ConnectOverLoopback() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  Require(bind(listener, generic, size) == 0 && listen(listener, 1) == 0 &&
              getsockname(listener, generic, &size) == 0,
          "a socket");
  const int sender = socket(AF_INET, SOCK_STREAM, 0);
  Require(connect(sender, generic, size) == 0, "a connection");
  const int receiver = accept(listener, nullptr, nullptr);
  close(listener);
  return {sender, receiver};
}

double MeasureFloor(std::string_view bytes, const std::string& path) {
  const auto [sender, receiver] = ConnectOverLoopback();
  const absl::Time start = absl::Now();
  const std::string expected = Sha256Hex(bytes);
  std::string digest;
  std::thread other([socket = receiver, &path, &digest] { Receive(socket, path, &digest); });
  for (std::string_view rest = bytes; !rest.empty();) {
    const ssize_t sent = send(sender, rest.data(), std::min(rest.size(), kChunkBytes), 0);
    Require(sent > 0, "sending");
    rest.remove_prefix(static_cast<size_t>(sent));
  }
  shutdown(sender, SHUT_WR);
  other.join();
  const double time = Milliseconds(start);
  Require(digest == expected, "the floor's digest");
  close(sender);
  close(receiver);
  std::filesystem::remove(path);
  return time;
}

struct UploadTimes {
  double all = 0;
  double after_last_byte = 0;
};

UploadTimes MeasureUpload(v1::DatasetService::Stub& datasets, std::string_view bytes, int turn) {
  const absl::Time start = absl::Now();
  v1::UploadDatasetRequest message;
  v1::UploadHeader& header = *message.mutable_header();
  header.set_dataset_id(absl::StrCat("turn-", turn));
  header.set_upload_id(header.dataset_id());
  header.set_sha256(Sha256Hex(bytes));
  header.set_total_bytes(static_cast<int64_t>(bytes.size()));
  v1::DenseFormat& dense = *header.add_parts()->mutable_dense();
  dense.set_rows(kRows);
  for (int c = 0; c <= kFeatures; ++c) {
    dense.add_columns()->set_name(absl::StrCat("x", c));
  }
  dense.mutable_columns(kFeatures)->set_role(v1::COLUMN_ROLE_TARGET);
  grpc::ClientContext context;
  v1::Dataset dataset;
  auto writer = datasets.UploadDataset(&context, &dataset);
  writer->Write(message);
  for (size_t at = 0; at < bytes.size(); at += kChunkBytes) {
    v1::UploadChunk& chunk = *message.mutable_chunk();
    chunk.set_data(bytes.data() + at, std::min(kChunkBytes, bytes.size() - at));
    chunk.set_offset(static_cast<int64_t>(at));
    writer->Write(message);
  }
  const absl::Time sent = absl::Now();
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  const UploadTimes times = {Milliseconds(start), Milliseconds(sent)};
  Require(status.ok(), status.error_message());
  grpc::ClientContext deletion;
  v1::DeleteDatasetRequest request;
  request.set_name(dataset.name());
  google::protobuf::Empty nothing;
  Require(datasets.DeleteDataset(&deletion, request, &nothing).ok(), "deletion");
  return times;
}

int Run() {
  ServerOptions options;
  options.data_dir =
      std::filesystem::temp_directory_path() / absl::StrCat("mercer_upload_bench_", getpid());
  options.listen = "127.0.0.1:0";
  auto server = Server::Start(options, MakeLogger("off"));
  Require(server.ok(), std::string(server.status().message()));
  auto datasets = v1::DatasetService::NewStub(
      grpc::CreateChannel((*server)->address(), grpc::InsecureChannelCredentials()));
  RandomStream random(1, "upload");
  std::vector<double> table(size_t{kRows} * (kFeatures + 1));
  std::generate(table.begin(), table.end(), [&] { return random.Normal(); });
  const std::string_view bytes(reinterpret_cast<const char*>(table.data()),
                               table.size() * sizeof(double));
  std::vector<double> floors;
  std::vector<double> uploads;
  std::vector<double> ends;
  std::vector<double> ratios;
  for (int turn = 0; turn < kTurns; ++turn) {
    table[0] = turn;  // another content every time
    floors.push_back(MeasureFloor(bytes, options.data_dir + "/floor"));
    const UploadTimes times = MeasureUpload(*datasets, bytes, turn);
    uploads.push_back(times.all);
    ends.push_back(times.after_last_byte);
    ratios.push_back(times.all / floors.back());
  }
  const double megabytes = static_cast<double>(bytes.size()) / 1e6;
  std::printf(
      "{\"bench\": \"upload\", \"megabytes\": %.1f, \"upload_megabytes_per_second\": %.0f, "
      "\"floor_megabytes_per_second\": %.0f, \"median_ratio\": %.2f, \"after_last_byte_ms\": "
      "%.0f}\n",
      megabytes, 1000 * megabytes / Quantile(uploads, 0), 1000 * megabytes / Quantile(floors, 0),
      Quantile(ratios, 0.5), Quantile(ends, 0));
  server->reset();
  std::filesystem::remove_all(options.data_dir);
  return 0;
}

}  // namespace
}  // namespace mercer::server

int main() { return mercer::server::Run(); }
