// SPDX-License-Identifier: Apache-2.0
// Matrix products of a warpgroup (PTX ISA, 'wgmma'), available in sm_90a only.
#pragma once

#include <cstdint>

namespace occbench::device {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most `groups` committed groups are in flight.
template <int groups>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}

/// Descriptor of a tile: start address, leading offset (unused in this layout), stride of 1,024 bytes
/// between groups of 8 rows, 128-byte swizzle; addresses and offsets in 16-byte units.
__device__ __forceinline__ std::uint64_t descriptor(std::uint32_t address) {
  return std::uint64_t{(address & 0x3FFFF) >> 4} | std::uint64_t{1} << 16 | std::uint64_t{1024 >> 4} << 32 |
         std::uint64_t{1} << 62;
}
constexpr std::uint64_t next_k16 = 32 >> 4;  // 16 bf16 further along each row, in descriptor units

// The operands of one instruction: up to 128 named accumulators, which a template cannot generate.
#define OCCBENCH_D32                                                                                       \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27," \
  "%28,%29,%30,%31"
#define OCCBENCH_D64                                                                                      \
  OCCBENCH_D32                                                                                            \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56," \
  "%57,%58,%59,%60,%61,%62,%63"
#define OCCBENCH_D128                                                                                     \
  OCCBENCH_D64                                                                                            \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88," \
  "%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,"   \
  "%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define OCCBENCH_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define OCCBENCH_16(i) OCCBENCH_4(i), OCCBENCH_4(i + 4), OCCBENCH_4(i + 8), OCCBENCH_4(i + 12)
#define OCCBENCH_32(i) OCCBENCH_16(i), OCCBENCH_16(i + 16)
#define OCCBENCH_64(i) OCCBENCH_32(i), OCCBENCH_32(i + 32)
#define OCCBENCH_128(i) OCCBENCH_64(i), OCCBENCH_64(i + 64)
// d += A B; the last immediates are the signs of A and B, and whether k is the fast index of A (in shared
// memory) and B.
#define OCCBENCH_WGMMA(n, list, operands, signs_and_order)                                                 \
  "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"                                                               \
  "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" list "}, " operands ", p, " signs_and_order \
  ";\n}"

/// d (64 x columns, distributed over the warpgroup) += A (64 x 16) B (16 x columns), asynchronously.
template <int columns>
__device__ __forceinline__ void multiply(float (&d)[columns / 2], std::uint64_t a, std::uint64_t b) {
  if constexpr (columns == 64)
    asm volatile(OCCBENCH_WGMMA(64, OCCBENCH_D32, "%32, %33", "1, 1, 0, 0")
                 : OCCBENCH_32(0)
                 : "l"(a), "l"(b));
  else if constexpr (columns == 128)
    asm volatile(OCCBENCH_WGMMA(128, OCCBENCH_D64, "%64, %65", "1, 1, 0, 0")
                 : OCCBENCH_64(0)
                 : "l"(a), "l"(b));
  else
    asm volatile(OCCBENCH_WGMMA(256, OCCBENCH_D128, "%128, %129", "1, 1, 0, 0")
                 : OCCBENCH_128(0)
                 : "l"(a), "l"(b));
}
template <int columns>
__device__ __forceinline__ void multiply(float (&d)[columns / 2], const std::uint32_t (&a)[4],
                                         std::uint64_t b) {
  if constexpr (columns == 64)
    asm volatile(OCCBENCH_WGMMA(64, OCCBENCH_D32, "{%32, %33, %34, %35}, %36", "1, 1, 0")
                 : OCCBENCH_32(0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  else if constexpr (columns == 128)
    asm volatile(OCCBENCH_WGMMA(128, OCCBENCH_D64, "{%64, %65, %66, %67}, %68", "1, 1, 0")
                 : OCCBENCH_64(0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  else
    asm volatile(OCCBENCH_WGMMA(256, OCCBENCH_D128, "{%128, %129, %130, %131}, %132", "1, 1, 0")
                 : OCCBENCH_128(0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

#undef OCCBENCH_D32
#undef OCCBENCH_D64
#undef OCCBENCH_D128
#undef OCCBENCH_4
#undef OCCBENCH_16
#undef OCCBENCH_32
#undef OCCBENCH_64
#undef OCCBENCH_128
#undef OCCBENCH_WGMMA

#endif

}  // namespace occbench::device
