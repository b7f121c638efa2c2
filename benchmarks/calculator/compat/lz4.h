// SPDX-License-Identifier: Apache-2.0
// LZ4's call that the reader of fatbins makes. Source: "LZ4 Block Format Description" of LZ4's repository.
#pragma once

#include <cstdint>
#include <cstring>

/// Returns the bytes written, or -1 if the block is damaged or does not fit.
inline int LZ4_decompress_safe(const char* from, char* to, int size, int room) {
  const auto *in = reinterpret_cast<const unsigned char*>(from), *const end = in + size;
  char *out = to, *const out_end = to + room;
  const auto length_of = [&](unsigned nibble) -> std::int64_t {
    std::int64_t length = nibble;
    if (nibble != 15) return length;
    for (unsigned more = 255; more == 255; length += more) {
      if (in == end) return -1;
      more = *in++;
    }
    return length;
  };
  while (in != end) {
    const unsigned token = *in++;
    const std::int64_t literals = length_of(token >> 4);
    if (literals < 0 || literals > end - in || literals > out_end - out) return -1;
    std::memcpy(out, in, static_cast<std::size_t>(literals));
    in += literals;
    out += literals;
    if (in == end) return static_cast<int>(out - to);  // the last sequence has literals alone
    if (end - in < 2) return -1;
    const int distance = in[0] | in[1] << 8;
    in += 2;
    const std::int64_t match = length_of(token & 15) + 4;
    if (match < 4 || distance == 0 || distance > out - to || match > out_end - out) return -1;
    for (std::int64_t i = 0; i < match; ++i, ++out) *out = out[-distance];
  }
  return -1;
}
