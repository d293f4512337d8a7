#include "server/storage/new_id.h"

#include <random>

namespace mercer::server {

std::string NewId() {
  constexpr char kAlphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
  std::random_device device;
  std::string id;
  for (int i = 0; i < 16; ++i) {
    id.push_back(kAlphabet[device() % 32]);
  }
  return id;
}

}  // namespace mercer::server
