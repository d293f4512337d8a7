// CRC-32C (Castagnoli polynomial, reflected, as iSCSI, ext4 and gRPC's own tools have it): finds
// damage on the way.
#pragma once

#include <cstdint>
#include <string_view>

namespace mercer {

// The checksum of `bytes`. To continue one that was begun on the bytes before, pass its value as
// `before`; 0 begins a new one.
uint32_t Crc32c(std::string_view bytes, uint32_t before = 0);

}  // namespace mercer
