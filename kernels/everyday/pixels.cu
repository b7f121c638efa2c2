// SPDX-License-Identifier: Apache-2.0
// Shows: per-pixel operations of an image pipeline, in short threads that handle one or four pixels.
// Expected: DRAM bandwidth if an SM has enough bytes in flight. Four pixels per thread need a quarter of the
//   threads; one byte stored per thread is the smallest work of a block.
// Published: Porter and Duff, 'Compositing digital images' (SIGGRAPH 1984), over; ITU-R BT.601 and BT.709,
//   luma; Reinhard et al., 'Photographic tone reproduction for digital images' (SIGGRAPH 2002), equation 3.
#include <bit>

#include "kernels/family.cuh"

namespace occbench::pixels {

/// blend: one RGBA image over another by the alpha of the first; luma: RGBA to one grey byte; tone: high
/// dynamic range, float RGBA, to grey in [0, 1).
enum class Op { blend, luma, tone };

constexpr int inputs(Op op) { return op == Op::blend ? 2 : 1; }
constexpr int input_bytes(Op op) { return op == Op::tone ? 16 : 4; }  // per pixel and image
constexpr int output_bytes(Op op) { return op == Op::luma ? 1 : 4; }  // per pixel
constexpr int flop(Op op) { return op == Op::tone ? 9 : 0; }          // root and reciprocal count as one each

struct Parameters {
  const float* front;  ///< random bits; the lowest byte of a float is alpha
  const float* back;
  void* output;
  int iterations;
};

// 8-bit pixels have alpha in the lowest byte. Two channels are computed at once, 16 bits each.
constexpr std::uint32_t even_bytes = 0x00ff00ff;

/// Divides both channels in x, products of two bytes, by 255, rounded.
__device__ __forceinline__ std::uint32_t over_255(std::uint32_t x) {
  x += 0x00800080;
  return (x + (x >> 8 & even_bytes)) >> 8 & even_bytes;
}
__device__ __forceinline__ std::uint32_t blend(std::uint32_t front, std::uint32_t back) {
  const std::uint32_t alpha = front & 0xff;
  const std::uint32_t rest = 255 - alpha;
  const std::uint32_t low = over_255((front & even_bytes) * alpha + (back & even_bytes) * rest);
  const std::uint32_t high = over_255((front >> 8 & even_bytes) * alpha + (back >> 8 & even_bytes) * rest);
  return low | high << 8;
}
__device__ __forceinline__ std::uint32_t luma(std::uint32_t pixel) {
  return (77 * (pixel >> 24) + 150 * (pixel >> 16 & 0xff) + 29 * (pixel >> 8 & 0xff) + 128) >> 8;
}
/// Half of the random values are negative: their magnitude is used.
__device__ __forceinline__ float tone(const float4& pixel) {
  const float light = fmaf(0.2126F, fabsf(pixel.x), fmaf(0.7152F, fabsf(pixel.y), 0.0722F * fabsf(pixel.z)));
  float inverse, root;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.0F + light));
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(light * inverse));
  return root;
}

/// Thread t of n handles packs t, t + n, ... of `count` adjacent pixels.
template <Op op, int count>
struct Body {
  using Parameters = pixels::Parameters;

  struct alignas(4 * count) Pack {
    std::uint32_t pixel[count];
  };
  struct alignas(count) Greys {
    std::uint8_t pixel[count];
  };

  static __device__ void run(const Parameters& p) {
    const std::int64_t n = device::thread_count();
    std::int64_t at = device::thread_index();
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, at += n) {
      if constexpr (op == Op::tone) {
        static_cast<float*>(p.output)[at] = tone(reinterpret_cast<const float4*>(p.front)[at]);
      } else if constexpr (op == Op::luma) {
        const Pack x = reinterpret_cast<const Pack*>(p.front)[at];
        Greys y;
#pragma unroll
        for (int i = 0; i < count; ++i) y.pixel[i] = static_cast<std::uint8_t>(luma(x.pixel[i]));
        static_cast<Greys*>(p.output)[at] = y;
      } else {
        Pack x = reinterpret_cast<const Pack*>(p.front)[at];
        const Pack y = reinterpret_cast<const Pack*>(p.back)[at];
#pragma unroll
        for (int i = 0; i < count; ++i) x.pixel[i] = blend(x.pixel[i], y.pixel[i]);
        static_cast<Pack*>(p.output)[at] = x;
      }
    }
  }
};

namespace {

/// Channel `c` of 8-bit pixel `i` of the input; 0 is alpha.
double channel(std::size_t i, int c) {
  return std::bit_cast<std::uint32_t>(random_value<float>(i)) >> 8 * c & 0xff;
}

/// 32-bit element `i` of the output: a pixel or four grey ones, of `n` pixels.
double reference(Op op, std::size_t i, std::size_t n) {
  if (op == Op::tone) {
    const auto part = [i](std::size_t c) -> double { return std::abs(random_value<float>(4 * i + c)); };
    const double light = 0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2);
    return std::sqrt(light / (1 + light));
  }
  double word = 0;
  for (int byte = 3; byte >= 0; --byte) {
    const std::size_t grey = 4 * i + static_cast<std::size_t>(byte);
    const double alpha = channel(i, 0);
    const double value =
        op == Op::luma
            ? std::floor((77 * channel(grey, 3) + 150 * channel(grey, 2) + 29 * channel(grey, 1) + 128) / 256)
            : std::round((channel(i, byte) * alpha + channel(n + i, byte) * (255 - alpha)) / 255);
    word = 256 * word + value;
  }
  return word;
}

std::optional<std::string> mismatch(Arena& arena, Op op, std::size_t n) {
  const auto expected = [=](std::size_t i) { return reference(op, i, n); };
  if (op == Op::tone) return arena.first_mismatch<float>(n, 1e-5, expected);
  return arena.first_mismatch<std::uint32_t>(n * static_cast<std::size_t>(output_bytes(op)) / 4, 0, expected);
}

template <Op op, int count>
void add(const std::string& name, double latency_cycles, const Instructions& instructions) {
  constexpr double bytes = inputs(op) * input_bytes(op) + output_bytes(op);  // per pixel
  const auto pixels_of = [](const Shape& shape) {
    return static_cast<std::size_t>(shape.threads() * shape.iterations) * count;
  };
  add_variant({
      .family = "pixels",
      .name = name + std::to_string(count),
      .form = name,
      .dials = {.data_type = op == Op::tone ? "f32" : "u8", .bytes_per_access = input_bytes(op) * count},
      .ceiling = Ceiling::dram,
      .iteration = {.dram_bytes = bytes * count,
                    .flop = 1.0 * flop(op) * count,
                    .latency_cycles = latency_cycles,
                    .dram_waits = 1},
      .instructions = instructions,
      .l2_before = L2::dirty,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            const std::size_t max_pixels = std::min(arena.input_bytes() / (inputs(op) * input_bytes(op)),
                                                    arena.output_bytes() / output_bytes(op));
            return static_cast<std::int64_t>(max_pixels / count) / shape.threads();
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const std::size_t n = pixels_of(shape);
            const float* const input = arena.input<float>();
            Problem problem = problem_of(
                arena,
                Parameters{.front = input,
                           .back = input + n,
                           .output = arena.output<float>(),
                           .iterations = static_cast<int>(shape.iterations)},
                {.bytes = bytes * static_cast<double>(n), .flop = 1.0 * flop(op) * static_cast<double>(n)},
                n * output_bytes(op), [=, &arena] { return mismatch(arena, op, n); });
            problem.reference_covers_timed = true;
            return problem;
          },
      .entry = reinterpret_cast<const void*>(free_entry<Body<op, count>>),
  });
}

const Registration registered{[] {
  // latency: the dependent chain of one pixel, and the issue of the others'
  add<Op::blend, 1>("blend", 40, {{"LDG.32", 2}, {"STG.32", 1}});
  add<Op::blend, 4>("blend", 120, {{"LDG.128", 2}, {"STG.128", 1}});
  add<Op::luma, 1>("luma", 25, {{"LDG.32", 1}, {"STG.8", 1}});
  add<Op::luma, 4>("luma", 60, {{"LDG.128", 1}, {"STG.32", 1}});
  add<Op::tone, 1>("tone", 80,
                   {{"LDG.128", 1}, {"FADD", 1}, {"FFMA", 2}, {"FMUL", 2}, {"MUFU", 2}, {"STG.32", 1}});
}};

}  // namespace

}  // namespace occbench::pixels
