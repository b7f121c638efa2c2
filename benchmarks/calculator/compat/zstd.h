// SPDX-License-Identifier: Apache-2.0
// zstd's calls that the reader of fatbins makes; benchmarks/calculator/zstd.zig defines them.
#pragma once

#include <cstddef>

extern "C" std::size_t ZSTD_decompress(void* to, std::size_t room, const void* from, std::size_t size);
extern "C" unsigned long long ZSTD_getFrameContentSize(const void* from, std::size_t size);

inline std::size_t ZSTD_getErrorCode(std::size_t got) {
  constexpr std::size_t codes = 120;
  return got > std::size_t{0} - codes ? std::size_t{0} - got : 0;
}
inline unsigned ZSTD_isError(std::size_t got) { return ZSTD_getErrorCode(got) != 0; }
