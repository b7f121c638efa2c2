/* SPDX-License-Identifier: Apache-2.0
 * liboccbench: exact occupancy, for callers of any language. No GPU and no CUDA is needed. */
#ifndef OCCBENCH_H
#define OCCBENCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OCCBENCH_API __attribute__((visibility("default")))

/** Grows when a signature or the meaning of a number changes. */
#define OCCBENCH_ABI 4
OCCBENCH_API int occbench_abi(void);

/** The numbers of one launch; bytes, threads, counts. */
typedef struct {
  int64_t block_size, registers_per_thread, static_smem_bytes, dynamic_smem_bytes;
  int64_t barriers, cluster_size, carveout_percent, max_block_size;
  int64_t grid_size;         /**< blocks; 0: unknown */
  int64_t virtual_resources; /**< 0: none; as occbench_inspect() says of kernels with tensor memory */
} occbench_launch;

/** What an SM holds of it. `limiters` is a sum of 1 warps, 2 blocks, 4 registers, 8 shared memory, 16 barriers,
 * 32 virtual resources. */
typedef struct {
  int32_t blocks_per_sm, warps_per_sm;
  double occupancy;
  uint32_t limiters;
  /** How the grid fills the device, as `calc --grid` says it; NaN where the grid or the number of SMs is unknown. */
  double waves, idle_sms, tail_share, occupancy_device;
  int32_t has_remark; /**< 1 where the status is more than "ok" */
} occbench_residency;

/** Answers `count` launches on a device of the catalogue ("h200", "cc9.0"). Returns 0; or 1 with one line in
 * `message`, of at most `size` bytes with its end, on an unknown device or a number out of range. */
OCCBENCH_API int occbench_occupancy(const char* device, size_t count, const occbench_launch* launches,
                                    occbench_residency* answers, char* message, size_t size);

/** The status of one launch in words: "ok", with a remark where one is due, or "cannot launch: why". Returns as
 * above. */
OCCBENCH_API int occbench_status(const char* device, const occbench_launch* launch, char* message,
                                 size_t size);

/** The names of the catalogue's devices, with blanks between. */
OCCBENCH_API const char* occbench_devices(void);

#ifdef __cplusplus
}
#endif
#endif
