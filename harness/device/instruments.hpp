// SPDX-License-Identifier: Apache-2.0
// The harness's own small kernels: what runs on the device around a measured launch.
// Every call is asynchronous on `stream` and throws CudaError when it could not be launched.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace occbench::instruments {

/// One SM's clock counter and the device's global timer, read together. `time_ns` 0: no block ran there.
struct Stamp {
  std::uint64_t cycles;
  std::uint64_t time_ns;
};

/// data[i] = random_value<T>(i) for i < count; T is float or double.
template <class T>
void fill_random(T* data, std::size_t count, cudaStream_t stream);

/// Evicts the L2's lines by touching `bytes` of `data` (twice its size, say): by reads, which leave clean
/// lines, or when `dirty` by writes of the same values.
void flush_l2(float* data, std::size_t bytes, bool dirty, cudaStream_t stream);

/// Occupies every SM for `delay_ns`, so that work queued behind it starts without a gap; stamps[sm] is taken
/// when it ends. A delay of 0 only stamps. `stamps` has one entry per SM.
void delay_and_stamp(Stamp* stamps, int sm_count, std::uint64_t delay_ns, cudaStream_t stream);

/// A checksum of an output; `hash` depends on the value and the position of every word.
struct Digest {
  unsigned long long hash;
  unsigned long long poisoned;  ///< words of all ones: NaN patterns that were not overwritten
  friend bool operator==(const Digest&, const Digest&) = default;
};

/// Adds the checksum of the first `words` of `data` to *digest, which is in device memory and 0 before.
void digest(const std::uint32_t* data, std::size_t words, Digest* digest, cudaStream_t stream);

/// out[k] = data[sample_place(k, samples, count)], elements of 4 or 8 bytes; `out` may be pinned host memory.
void gather(void* out, const void* data, std::size_t element_bytes, std::size_t samples, std::size_t count,
            cudaStream_t stream);

/// Arithmetic on all SMs for almost a millisecond, 64 warps on each; cycles[block] by the SM's clock counter.
void load_sms(unsigned long long* cycles, int blocks, cudaStream_t stream);

/// An empty kernel of one block.
void empty(cudaStream_t stream);
/// Its host stub, for occupancy queries; it is not launched there.
const void* empty_entry();

/// Host stub of a kernel whose blocks stay resident for one to two times its argument (std::uint64_t, ns,
/// above 0), each for a different time, and use no pipe meanwhile: one warp sleeps, the others wait for it at
/// a barrier.
const void* resident_entry();

}  // namespace occbench::instruments
