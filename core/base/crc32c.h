// CRC-32C (Castagnoli polynomial, reflected, as iSCSI, ext4 and gRPC's own tools have it): finds damage on the way.
#pragma once

#include <cstdint>
#include <string_view>

namespace mercer {

// Of `bytes` behind others whose value is `before`; 0: of `bytes` alone.
uint32_t Crc32c(std::string_view bytes, uint32_t before = 0);

}  // namespace mercer
