// Image files made of their parts, good ones and bad ones.
#pragma once

#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <zlib.h>

namespace mercer {

inline std::string BigEndian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(value >> shift));
  }
  return bytes;
}

inline std::string PngChunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const auto checksum =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return BigEndian(static_cast<uint32_t>(data.size())) + body +
         BigEndian(static_cast<uint32_t>(checksum));
}

inline std::string Deflated(const std::string& bytes) {
  std::string packed(compressBound(bytes.size()), '\0');
  uLongf size = packed.size();
  EXPECT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                     reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()),
            Z_OK);
  packed.resize(size);
  return packed;
}

// What a PNG file says; nothing of it need be true.
struct PngParts {
  uint32_t columns = 0;
  uint32_t rows = 0;
  int depth = 8;
  int color = 0;
  bool interlaced = false;
  std::string scanlines;  // each after its filter byte
};

inline const std::string kPngMagic("\x89PNG\r\n\x1a\n", 8);

inline std::string Png(const PngParts& parts) {
  std::string header = BigEndian(parts.columns) + BigEndian(parts.rows);
  header += {static_cast<char>(parts.depth), static_cast<char>(parts.color), 0, 0,
             static_cast<char>(parts.interlaced ? 1 : 0)};
  return kPngMagic + PngChunk("IHDR", header) + PngChunk("IDAT", Deflated(parts.scanlines)) +
         PngChunk("IEND", "");
}

}  // namespace mercer
