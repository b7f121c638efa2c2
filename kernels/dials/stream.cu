// SPDX-License-Identifier: Apache-2.0
// Shows: memory bandwidth needs bytes in flight, whether from warps, ILP or access width.
// Expected: throughput rises with resident warps x loads in flight x bytes per load and saturates at 85-94 %
//   of the theoretical DRAM bandwidth; wide accesses need a quarter of the warps.
// Published: Little's law in Volkov, 'Understanding latency hiding on GPUs' (2016), ch. 4; McCalpin's
//   STREAM.
#include <type_traits>

#include "kernels/family.cuh"

namespace occbench::stream {

/// init: o = c; read: sum of a; copy: o = a; scale: o = s a; triad: o = a + s b.
enum class Op { init, read, copy, scale, triad };

__host__ __device__ constexpr int inputs(Op op) { return op == Op::init ? 0 : op == Op::triad ? 2 : 1; }
__host__ __device__ constexpr bool writes(Op op) { return op != Op::read; }
constexpr const char* name_of(Op op) {
  switch (op) {
    case Op::init:
      return "init";
    case Op::read:
      return "read";
    case Op::copy:
      return "copy";
    case Op::scale:
      return "scale";
    case Op::triad:
      break;
  }
  return "triad";
}

/// `lanes` consecutive elements, loaded or stored as one access.
template <class T, int lanes>
struct alignas(sizeof(T) * lanes) Pack {
  T lane[lanes];
};

template <class T>
struct Arguments {
  const T* a;
  const T* b;
  T* output;
  T scalar;
  int iterations;
};

/// Thread t of n accesses packs t, t + n, t + 2n, ..., coalesced at every width, `ilp` of them independent.
template <class T, Op op, int lanes, int ilp>
struct Body {
  using Parameters = Arguments<T>;

  static __device__ void run(const Parameters& p) {
    using P = Pack<T, lanes>;
    const std::int64_t n = device::thread_count();
    std::int64_t at = device::thread_index();
    const auto* const a = reinterpret_cast<const P*>(p.a);
    const auto* const b = reinterpret_cast<const P*>(p.b);
    auto* const output = reinterpret_cast<P*>(p.output);
    T sum = 0;
    [[maybe_unused]] P constant;
    if constexpr (op == Op::init)
      for (int e = 0; e < lanes; ++e) constant.lane[e] = p.scalar;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, at += ilp * n) {
      P x[ilp];
      [[maybe_unused]] P y[ilp];
#pragma unroll
      for (int j = 0; j < ilp; ++j) {
        if constexpr (inputs(op) > 0) x[j] = a[at + j * n];
        if constexpr (inputs(op) > 1) y[j] = b[at + j * n];
      }
#pragma unroll
      for (int j = 0; j < ilp; ++j) {
#pragma unroll
        for (int e = 0; e < lanes; ++e) {
          if constexpr (op == Op::read) sum += x[j].lane[e];
          if constexpr (op == Op::scale) x[j].lane[e] *= p.scalar;
          if constexpr (op == Op::triad) x[j].lane[e] = fma(y[j].lane[e], p.scalar, x[j].lane[e]);
        }
        if constexpr (op == Op::init) output[at + j * n] = constant;
        if constexpr (writes(op) && op != Op::init) output[at + j * n] = x[j];
      }
    }
    if constexpr (op == Op::read) p.output[device::thread_index()] = sum;
  }
};

namespace {

/// The dials of a variant, besides its type.
struct Form {
  Op op;
  int lanes;
  int ilp;
};

template <class T>
std::optional<std::string> mismatch(Arena& arena, const Shape& shape, const Form& form, double scalar) {
  const auto threads = static_cast<std::size_t>(shape.threads());
  const auto lanes = static_cast<std::size_t>(form.lanes);
  const std::size_t rows = static_cast<std::size_t>(shape.iterations * form.ilp);
  const std::size_t elements = rows * threads * lanes;
  const std::size_t half = arena.input_bytes() / 2 / sizeof(T);
  constexpr double tolerance = sizeof(T) == 8 ? 1e-13 : 1e-5;
  constexpr RandomInput<T> a;
  const auto compare = [&](std::size_t count, const auto& expected) {
    return arena.first_mismatch<T>(count, tolerance, expected);
  };
  switch (form.op) {
    case Op::init:
      return compare(elements, [&](std::size_t) { return scalar; });
    case Op::copy:
      return compare(elements, [&](std::size_t i) -> double { return a[i]; });
    case Op::scale:
      return compare(elements, [&](std::size_t i) { return scalar * a[i]; });
    case Op::triad:
      return compare(elements, [&](std::size_t i) { return a[i] + scalar * random_value<T>(half + i); });
    case Op::read:
      break;
  }
  return compare(threads, [&](std::size_t thread) {
    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t e = 0; e < lanes; ++e) sum += a[(row * threads + thread) * lanes + e];
    return sum;
  });
}

template <class T>
void add(const Form& form, const void* entry) {
  const auto [op, lanes, ilp] = form;
  constexpr bool wide = sizeof(T) == 8;
  constexpr T scalar = static_cast<T>(0.73);
  const int width = lanes * static_cast<int>(sizeof(T));
  const int streams = inputs(op) + (writes(op) ? 1 : 0);
  const std::string bits = std::to_string(8 * width);
  Instructions instructions;
  if (inputs(op) > 0) instructions["LDG." + bits] = inputs(op) * ilp;
  if (writes(op)) instructions["STG." + bits] = ilp;
  if (op == Op::read) instructions[wide ? "DADD" : "FADD"] = lanes * ilp;
  if (op == Op::scale) instructions[wide ? "DMUL" : "FMUL"] = lanes * ilp;
  if (op == Op::triad) instructions[wide ? "DFMA" : "FFMA"] = lanes * ilp;
  const auto output_bytes = [=](const Shape& shape) {
    return static_cast<std::size_t>(shape.threads()) *
           (writes(op) ? static_cast<std::size_t>(shape.iterations * ilp * width) : sizeof(T));
  };
  add_variant({
      .family = "stream",
      .name = std::string(name_of(op)) + (wide ? "-f64-" : "-f32-") + std::to_string(width) + "B-ilp" +
              std::to_string(ilp),
      .form = name_of(op),
      .dials = {.data_type = wide ? "f64" : "f32", .ilp = ilp, .bytes_per_access = width},
      .ceiling = Ceiling::dram,
      .iteration = {.dram_bytes = double(streams) * width * ilp,
                    .latency_cycles = 4.0 * ilp * lanes,
                    .dram_waits = inputs(op) > 0 ? 1.0 : 0.0},
      .instructions = instructions,
      .l2_before = writes(op) ? L2::dirty : L2::clean,
      .max_iterations =
          [=](const Arena& arena, const Shape& shape) {
            const std::size_t in = inputs(op) == 2 ? arena.input_bytes() / 2 : arena.input_bytes();
            const std::size_t out = arena.output_bytes();
            const std::size_t bytes = !writes(op) ? in : inputs(op) == 0 ? out : std::min(in, out);
            return static_cast<std::int64_t>(bytes) / (shape.threads() * width * ilp);
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const T* input = arena.input<T>();
            Problem problem;
            problem.set_parameters(Arguments<T>{input, input + arena.input_bytes() / 2 / sizeof(T),
                                                arena.output<T>(), scalar,
                                                static_cast<int>(shape.iterations)});
            const auto threads = static_cast<double>(shape.threads());
            problem.work.bytes = threads * (static_cast<double>(shape.iterations) * ilp * width * streams +
                                            (writes(op) ? 0 : sizeof(T)));
            problem.poison = [=, &arena] { arena.poison_output(output_bytes(shape)); };
            problem.reference_covers_timed = writes(op);  // otherwise a float32 sum over all iterations
            problem.mismatch = [=, &arena] { return mismatch<T>(arena, shape, form, scalar); };
            return problem;
          },
      .entry = entry,
  });
}

template <class T, Op op, int lanes>
void add_every_ilp() {
  for_each_value<1, 2, 4, 8>([]<int ilp>(std::integral_constant<int, ilp>) {
    add<T>({op, lanes, ilp}, reinterpret_cast<const void*>(free_entry<Body<T, op, lanes, ilp>>));
  });
}

template <class T, int lanes>
void add_every_op() {
  add_every_ilp<T, Op::init, lanes>();
  add_every_ilp<T, Op::read, lanes>();
  add_every_ilp<T, Op::copy, lanes>();
  add_every_ilp<T, Op::scale, lanes>();
  add_every_ilp<T, Op::triad, lanes>();
}

const Registration registered{[] {
  add_every_op<float, 1>();
  add_every_op<float, 2>();
  add_every_op<float, 4>();
  add_every_op<double, 1>();
  add_every_op<double, 2>();
}};

}  // namespace

}  // namespace occbench::stream
