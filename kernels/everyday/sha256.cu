// SPDX-License-Identifier: Apache-2.0
// Shows: integer-only dependent chains, overlapped by warps or by several chains per thread; effects of
//   unrolling and registers.
// Expected: the integer pipe's rate except with the fewest warps: a round has six rotations, four 3-input
//   functions and four additions, a schedule word six rotations or shifts, two functions and two additions.
//   Chains per thread take 24 registers each and gain little; unrolling folds constants; spills always cost.
// Published: FIPS 180-4 (2015), 6.2; PKCS #5 (RFC 8018), 5.2; hashcat's kernels unroll
// and vectorize in the same way.
#include <array>

#include "kernels/family.cuh"

namespace occbench::sha256 {

constexpr int rounds = 64;
constexpr int block_words = 16;
constexpr int digest_words = 8;

// Threads with the same index modulo this compute the same hashes, which keeps the reference cheap.
constexpr std::int64_t period = 1024;

struct Digest {
  std::uint32_t word[digest_words];
};
struct Block {
  std::uint32_t word[block_words];
};
struct Constants {
  std::uint32_t of_round[rounds];
};

// FIPS 180-4, 5.3.3 and 4.2.2: from square and cube roots of the first primes.
constexpr Digest initial = {
    {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
constexpr Constants constants = {
    {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
     0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
     0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
     0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
     0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
     0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
     0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
     0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2}};
__constant__ constexpr Constants device_constants = constants;
__constant__ constexpr Digest device_initial = initial;

struct Parameters {
  std::uint32_t* folded;  ///< digests, per thread
  int iterations;
};

OCCBENCH_HOST_DEVICE constexpr std::uint32_t rotate(std::uint32_t x, int bits) {
  return x >> bits | x << (32 - bits);
}

/// The digest from which a chain starts.
OCCBENCH_HOST_DEVICE constexpr Digest start(std::uint32_t chain) {
  Digest digest{};
  for (int i = 0; i < digest_words; ++i)
    digest.word[i] = mix(digest_words * chain + static_cast<std::uint32_t>(i) + 1);
  return digest;
}

/// The 36-byte message of an iteration: the last digest and the iteration's number, padded (FIPS 180-4,
/// 5.1.1).
OCCBENCH_HOST_DEVICE constexpr Block padded(const Digest& d, std::uint32_t iteration) {
  constexpr std::uint32_t bits = 32 * (digest_words + 1);
  return {{d.word[0], d.word[1], d.word[2], d.word[3], d.word[4], d.word[5], d.word[6], d.word[7], iteration,
           0x80000000U, 0, 0, 0, 0, 0, bits}};
}

/// Folds one more word into a thread's output.
OCCBENCH_HOST_DEVICE constexpr std::uint32_t fold(std::uint32_t sum, const Digest& d) {
  for (const std::uint32_t word : d.word) sum = rotate(sum, 1) ^ word;
  return sum;
}

/// 16 words of the schedule, and the working variables a to h, which rotate: in round i, a is at (-i) % 8.
struct Working {
  Block schedule;
  Digest variable;

  /// Replaces word i by that of the next sixteen.
  __device__ __forceinline__ void extend(int i) {
    std::uint32_t* const w = schedule.word;
    const std::uint32_t x = w[(i + 1) % block_words];
    const std::uint32_t y = w[(i + 14) % block_words];
    w[i] += (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3) + w[(i + 9) % block_words] +
            (rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
  }
  __device__ __forceinline__ void round(int i, std::uint32_t constant) {
    const auto at = [&](int n) -> std::uint32_t& { return variable.word[(n + 2 * block_words - i) % 8]; };
    const std::uint32_t a = at(0), b = at(1), c = at(2), e = at(4), f = at(5), g = at(6);
    const std::uint32_t t = at(7) + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) +
                            constant + schedule.word[i];
    at(3) += t;
    at(7) = t + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
  }
};

/// Each thread advances `chains` chains round by round. `unrolled` rounds are a trip of the loop: all 64 of
/// an iteration, or 16, where the first 16, which extend no schedule, precede the loop.
template <int chains, int unrolled>
struct Body {
  using Parameters = sha256::Parameters;

  template <bool extends>
  static __device__ __forceinline__ void sixteen(Working (&w)[chains], int first) {
#pragma unroll
    for (int i = 0; i < block_words; ++i) {
#pragma unroll
      for (int c = 0; c < chains; ++c) {
        if (extends) w[c].extend(i);
        w[c].round(i, device_constants.of_round[first + i]);
      }
    }
  }

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    Digest digest[chains];
#pragma unroll
    for (int c = 0; c < chains; ++c)
      digest[c] = start(static_cast<std::uint32_t>(index % period) * chains + static_cast<std::uint32_t>(c));
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration) {
      Working w[chains];
#pragma unroll
      for (int c = 0; c < chains; ++c)
        w[c] = {padded(digest[c], static_cast<std::uint32_t>(iteration)), device_initial};
      sixteen<false>(w, 0);
      if constexpr (unrolled == rounds) {
#pragma unroll
        for (int first = block_words; first < rounds; first += block_words) sixteen<true>(w, first);
      } else {
#pragma unroll 1
        for (int first = block_words; first < rounds; first += block_words) sixteen<true>(w, first);
      }
#pragma unroll
      for (int c = 0; c < chains; ++c)
#pragma unroll
        for (int i = 0; i < digest_words; ++i)
          digest[c].word[i] = device_initial.word[i] + w[c].variable.word[i];
    }
    std::uint32_t sum = 0;
#pragma unroll
    for (int c = 0; c < chains; ++c) sum = fold(sum, digest[c]);
    p.folded[index] = sum;
  }
};

namespace {

/// Compresses one block by FIPS 180-4, 6.2.2: the whole schedule, then the rounds.
constexpr Digest compress(const Digest& before, const Block& block) {
  std::array<std::uint32_t, rounds> w{};
  for (std::size_t t = 0; t < rounds; ++t)
    if (t < block_words) {
      w[t] = block.word[t];
    } else {
      const std::uint32_t sigma0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ (w[t - 15] >> 3);
      const std::uint32_t sigma1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ (w[t - 2] >> 10);
      w[t] = sigma1 + w[t - 7] + sigma0 + w[t - 16];
    }
  Digest working = before;
  auto& [a, b, c, d, e, f, g, h] = working.word;
  for (std::size_t t = 0; t < rounds; ++t) {
    const std::uint32_t sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const std::uint32_t choice = (e & f) ^ (~e & g);
    const std::uint32_t t1 = h + sum1 + choice + constants.of_round[t] + w[t];
    const std::uint32_t sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t t2 = sum0 + majority;
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  Digest after = before;
  for (std::size_t i = 0; i < digest_words; ++i) after.word[i] += working.word[i];
  return after;
}

constexpr bool same(const Digest& x, const Digest& y) {
  for (std::size_t i = 0; i < digest_words; ++i)
    if (x.word[i] != y.word[i]) return false;
  return true;
}

// NIST's one-block example for FIPS 180-4: "abc".
static_assert(same(compress(initial, {{0x61626380, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24}}),
                   {{0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3, 0x96177a9c, 0xb410ff61,
                     0xf20015ad}}));

/// The outputs of the threads of one period after `iterations`.
std::vector<double> reference(int chains, std::int64_t iterations) {
  std::vector<double> words;
  for (std::uint32_t thread = 0; thread < period; ++thread) {
    std::uint32_t sum = 0;
    for (int c = 0; c < chains; ++c) {
      Digest digest = start(thread * static_cast<std::uint32_t>(chains) + static_cast<std::uint32_t>(c));
      for (std::int64_t iteration = 0; iteration < iterations; ++iteration)
        digest = compress(initial, padded(digest, static_cast<std::uint32_t>(iteration)));
      sum = fold(sum, digest);
    }
    words.push_back(sum);
  }
  return words;
}

struct Form {
  int chains;
  int unrolled;
  Instructions instructions;
  bool may_spill = false;
};

void add(const Form& f, const Entry& entry) {
  // Instructions per round, and per word of the schedule: see the top of the file.
  constexpr double per_hash = 14.0 * rounds + 10.0 * (rounds - block_words);
  // a scheduler issues an integer instruction every two cycles
  const double pipe_cycles = 2 * per_hash * f.chains;
  const int chains = f.chains;
  entry.add({
      .family = "sha256",
      .name = "chains" + std::to_string(chains) + "-rounds" + std::to_string(f.unrolled),
      .form = f.unrolled == rounds ? "unrolled" : "rolled",
      .dials = {.data_type = "u32", .ilp = chains},
      .ceiling = Ceiling::none,  // no hardware rate counts hashes
      // a round's dependent chain, about five instructions, is shorter than the warp's own issue
      .iteration = {.latency_cycles = pipe_cycles, .pipe_cycles_per_warp = pipe_cycles / 4},
      .instructions = f.instructions,
      .loop_trips = f.unrolled == rounds ? std::vector<double>{}
                                         : std::vector<double>{1, double{rounds} / f.unrolled - 1},
      .may_spill = f.may_spill,
      .l2_before = L2::warm,
      .max_iterations = unless_too_many_threads<std::uint32_t>(),
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            Problem problem;
            problem.set_parameters(Parameters{.folded = arena.output<std::uint32_t>(),
                                              .iterations = static_cast<int>(shape.iterations)});
            const auto threads = static_cast<double>(shape.threads());
            problem.work = {.bytes = threads * sizeof(std::uint32_t),
                            .operations = threads * static_cast<double>(shape.iterations) * chains};
            problem.poison = poison_one_per_thread<std::uint32_t>(arena, shape);
            // exact: a double holds every 32-bit word
            problem.mismatch = [=, &arena] {
              const std::vector<double> words = reference(chains, shape.iterations);
              return arena.first_mismatch<std::uint32_t>(static_cast<std::size_t>(shape.threads()), 0,
                                                         [&](std::size_t i) { return words[i % period]; });
            };
            return problem;
          },
  });
}

/// Of a trip: 16 rounds with their schedule.
Instructions trip_instructions(int chains) {
  return {{"LOP3", chains * block_words * (4 + 2)}, {"SHF", chains * block_words * (6 + 6)}};
}

template <int chains, int cap = 0>
void add_rolled(bool may_spill = false) {
  add({.chains = chains, .unrolled = 16, .instructions = trip_instructions(chains), .may_spill = may_spill},
      entry_of<Body<chains, 16>, cap>());
}
template <int chains>
void add_unrolled() {
  // Fewer than 64 rounds, by constants: the initial digest, the padding, and the iteration's number, which
  // is uniform.
  add({.chains = chains, .unrolled = rounds, .instructions = {{"LOP3", chains * 346}, {"SHF", chains * 636}}},
      entry_of<Body<chains, rounds>>());
}

const Registration registered{[] {
  add_rolled<1>();
  add_rolled<2>();
  add_rolled<4>();
  add_unrolled<1>();
  add_unrolled<2>();
  // Without a cap nvcc 13 uses 32 registers for one chain: with 64 it uses 46 and does not spill.
  add_rolled<1, 64>();
  // Schedules and working variables of two chains are 48 words, of four chains 96; 32 registers hold those
  // of one.
  add_rolled<2, 48>(true);
  add_rolled<2, 32>(true);
  add_rolled<4, 96>(true);
}};

}  // namespace

}  // namespace occbench::sha256
