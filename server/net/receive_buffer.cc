#include "server/net/receive_buffer.h"

#include <climits>
#include <sys/socket.h>

namespace mercer::server {
namespace {

// Of SO_BUF_LOCK: a program has chosen the size of the buffer for what is received.
constexpr int kReceiveBufferLock = 2;

}  // namespace

void HoldReceiveBuffer(int socket, int bytes) {
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

void ReleaseReceiveBuffer(int socket) {
  int locks = 0;
  socklen_t size = sizeof(locks);
  if (getsockopt(socket, SOL_SOCKET, SO_BUF_LOCK, &locks, &size) == 0) {
    locks &= ~kReceiveBufferLock;
    setsockopt(socket, SOL_SOCKET, SO_BUF_LOCK, &locks, sizeof(locks));
    return;
  }
  const int most = INT_MAX / 2;
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &most, sizeof(most));
}

}  // namespace mercer::server
