// SPDX-License-Identifier: Apache-2.0
// Shows: a hash under every register dial: no loads, so the memory pipe is free for spills.
// Found: H200: from 59 % of the issue rate to 53 % at 32 registers.
// Published: O'Connor et al., 'BLAKE3' (2020).
#include <bit>

#include "kernels/dials/launch_bounds_roulette/launch_bounds_roulette.cuh"

namespace occbench::launch_bounds_roulette {

/// BLAKE3's compression, repeated with its own chaining value as in password stretching, in `chains` chains
/// per thread.
struct Hash {
  using Parameters = Arguments<std::uint32_t>;
  static constexpr int chains = 2;
  static constexpr int rounds = 7;
  static constexpr std::int64_t period =
      1024;  // threads with the same index modulo this compute the same hashes

  struct Block {
    std::uint32_t word[16];
  };
  struct Digest {
    std::uint32_t word[8];
  };
  static constexpr Digest start = {
      {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};

  static OCCBENCH_HOST_DEVICE constexpr std::uint32_t rotate(std::uint32_t x, int bits) {
    return x >> bits | x << (32 - bits);
  }
  static OCCBENCH_HOST_DEVICE constexpr void mix_in(Block& v, int a, int b, int c, int d, std::uint32_t x,
                                                    std::uint32_t y) {
    v.word[a] += v.word[b] + x;
    v.word[d] = rotate(v.word[d] ^ v.word[a], 16);
    v.word[c] += v.word[d];
    v.word[b] = rotate(v.word[b] ^ v.word[c], 12);
    v.word[a] += v.word[b] + y;
    v.word[d] = rotate(v.word[d] ^ v.word[a], 8);
    v.word[c] += v.word[d];
    v.word[b] = rotate(v.word[b] ^ v.word[c], 7);
  }
  static OCCBENCH_HOST_DEVICE constexpr void mix_all(Block& v, Block& m) {
    mix_in(v, 0, 4, 8, 12, m.word[0], m.word[1]);
    mix_in(v, 1, 5, 9, 13, m.word[2], m.word[3]);
    mix_in(v, 2, 6, 10, 14, m.word[4], m.word[5]);
    mix_in(v, 3, 7, 11, 15, m.word[6], m.word[7]);
    mix_in(v, 0, 5, 10, 15, m.word[8], m.word[9]);
    mix_in(v, 1, 6, 11, 12, m.word[10], m.word[11]);
    mix_in(v, 2, 7, 8, 13, m.word[12], m.word[13]);
    mix_in(v, 3, 4, 9, 14, m.word[14], m.word[15]);
    const Block old = m;
    const int from[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
    for (int i = 0; i < 16; ++i) m.word[i] = old.word[from[i]];
  }
  static OCCBENCH_HOST_DEVICE constexpr Block state(const Digest& h, std::uint32_t counter,
                                                    std::uint32_t bytes) {
    constexpr std::uint32_t only_chunk_and_root = 1 | 2 | 8;
    return {{h.word[0], h.word[1], h.word[2], h.word[3], h.word[4], h.word[5], h.word[6], h.word[7],
             0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, counter, 0, bytes, only_chunk_and_root}};
  }
  static OCCBENCH_HOST_DEVICE constexpr Digest digest(const Block& v) {
    Digest h{};
    for (int i = 0; i < 8; ++i) h.word[i] = v.word[i] ^ v.word[i + 8];
    return h;
  }
  static constexpr Digest compress(const Digest& h, Block m, std::uint32_t counter, std::uint32_t bytes) {
    Block v = state(h, counter, bytes);
    for (int round = 0; round < rounds; ++round) mix_all(v, m);
    return digest(v);
  }
  /// A thread's output: all words of its chains folded into one.
  static OCCBENCH_HOST_DEVICE constexpr std::uint32_t fold(const Digest* h) {
    std::uint32_t sum = 0;
    for (int c = 0; c < chains; ++c)
      for (int i = 0; i < 8; ++i) sum = rotate(sum, 1) ^ h[c].word[i];
    return sum;
  }
  /// Index of word `i` of a chain's block in the input.
  static OCCBENCH_HOST_DEVICE constexpr std::int64_t place(std::int64_t index, int chain, int i) {
    return (chain * 16 + i) * period + index % period;
  }

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    const volatile std::uint32_t* const input = p.input;  // volatile: must not be reloaded in the loop
    Block m[chains];
    Digest h[chains];
#pragma unroll
    for (int c = 0; c < chains; ++c) {
      h[c] = start;
#pragma unroll
      for (int i = 0; i < 16; ++i) m[c].word[i] = input[place(index, c, i)];
    }
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      Block v[chains];
      Block words[chains];
#pragma unroll
      for (int c = 0; c < chains; ++c) {
        v[c] = state(h[c], static_cast<std::uint32_t>(iteration), sizeof(Block));
        words[c] = m[c];
      }
#pragma unroll
      for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int c = 0; c < chains; ++c) mix_all(v[c], words[c]);
      }
#pragma unroll
      for (int c = 0; c < chains; ++c) h[c] = digest(v[c]);
    }
    p.output[index] = fold(h);
  }
};
// Check against the published hash of the empty input (af1349b9 f5f9a1a6 ...), since device and CPU share
// the code above.
static_assert(Hash::compress(Hash::start, {}, 0, 0).word[0] == 0xb94913af);
static_assert(Hash::compress(Hash::start, {}, 0, 0).word[1] == 0xa6a1f9f5);

namespace {

struct HashKernel {
  template <int threads>
  using Body = Hash;
  static constexpr int touches = 1;

  template <int threads>
  static Variant describe() {
    // Instructions per compression, by the algorithm: eight mixings per round, each with two 3-input and two
    // 2-input additions, four XORs and four rotations; then eight XORs. Most use the integer pipe, which has
    // half of the issue rate up to Hopper.
    constexpr int per_iteration = Hash::chains * (Hash::rounds * 8 * (2 + 2 + 4 + 4) + 8);
    return {
        .series = "hash",
        .dials = {.data_type = "u32", .ilp = 4 * Hash::chains, .live_values = Hash::chains * (16 + 16)},
        .ceiling = Ceiling::issue,
        .iteration = {.latency_cycles = 900, .pipe_cycles_per_warp = 570},
        // 56 mixings of 8 and the digest's 8, minus folded constants of the first round
        .instructions = {{"LOP3", 462}, {"SHF", 444}},
        .l2_before = L2::warm,
        .prepare =
            [](Arena& arena, const Shape& shape) {
              Problem problem;
              problem.set_parameters(arguments<std::uint32_t>(arena, shape.iterations));
              const auto threads_in_all = static_cast<std::size_t>(shape.threads());
              problem.work = {.bytes = static_cast<double>(threads_in_all) * sizeof(std::uint32_t),
                              .operations = static_cast<double>(threads_in_all) *
                                            static_cast<double>(shape.iterations) * per_iteration};
              problem.poison = poison_one_per_thread<std::uint32_t>(arena, shape);
              problem.mismatch = [=, &arena] {
                const auto input = arena.reference_input<float>(Hash::chains * 16 * Hash::period);
                std::vector<double> words;
                for (std::int64_t index = 0; index < Hash::period; ++index) {
                  Hash::Digest h[Hash::chains];
                  for (int c = 0; c < Hash::chains; ++c) {
                    Hash::Block m;
                    for (int i = 0; i < 16; ++i)
                      m.word[i] = std::bit_cast<std::uint32_t>(
                          input[static_cast<std::size_t>(Hash::place(index, c, i))]);
                    h[c] = Hash::start;
                    for (std::int64_t iteration = 0; iteration < shape.iterations; ++iteration)
                      h[c] = Hash::compress(h[c], m, static_cast<std::uint32_t>(iteration), sizeof m);
                  }
                  words.push_back(Hash::fold(h));
                }
                return arena.first_mismatch<std::uint32_t>(
                    threads_in_all, 0, [&](std::size_t i) { return words[i % Hash::period]; });
              };
              return problem;
            },
    };
  }
};

const Registration registered{define<HashKernel, compiled_register_cap, 5, 8>};

}  // namespace

}  // namespace occbench::launch_bounds_roulette
