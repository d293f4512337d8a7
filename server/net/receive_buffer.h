// How much of what a peer sends the system takes in before anybody reads it.
#pragma once

namespace mercer::server {

// Keeps the buffer of a connection to about twice `bytes`: what comes in between two reads. Without
// effect where the system refuses.
void HoldReceiveBuffer(int socket, int bytes);
// From now on the system lets the buffer grow with what is read, as it does for other connections;
// before Linux 5.14 it becomes as large as a program may make it.
void ReleaseReceiveBuffer(int socket);

}  // namespace mercer::server
