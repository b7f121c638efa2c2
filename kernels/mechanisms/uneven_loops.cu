// SPDX-License-Identifier: Apache-2.0
// Shows: loops with data-dependent trip counts. A warp runs until its longest lane is done while the others
//   idle.
// Expected: useful work is proportional to the mean trip count over the mean of the warps' maxima, at every
//   occupancy: lanes that share an item lose nothing, 32 different ones most. A rare long item costs the
//   warp as much as 32 of them.
// Published: Mandelbrot's set (1980) by escape time; Collatz's problem as in Lagarias, 'The 3x + 1 problem
//   and its generalizations' (1985); Henon, 'A two-dimensional mapping with a strange attractor' (1976).
#include <array>
#include <bit>
#include <cmath>

#include "kernels/family.cuh"

namespace occbench::uneven_loops {

/// The work per item. escape: z = z^2 + c until |z| > 2; collatz: n / 2 or 3 n + 1 until 1; rare: many steps
/// for some items, none for the others.
enum class Form { escape, collatz, rare };

constexpr int items = 4096;      // distinct ones, whose steps the reference precomputes
constexpr int max_steps = 128;   // per escape
constexpr int rare_steps = 64;   // per chosen item
constexpr int warps_apart = 31;  // between a thread's items of successive iterations; visits all items

constexpr int flop_per_step(Form form) { return form == Form::escape ? 10 : form == Form::rare ? 5 : 0; }

struct Parameters {
  std::uint32_t* output;  ///< one per thread
  int iterations;
  int shared_by;       ///< log2 of the adjacent lanes that share an item
  unsigned rare_mask;  ///< Form::rare: chosen are items with none of these bits
};

/// The item of a thread in an iteration; items are in random order.
OCCBENCH_HOST_DEVICE constexpr std::uint32_t item_of(std::int64_t thread, std::int64_t iteration,
                                                     int shared_by) {
  const std::uint32_t apart = warps_apart * (32U >> shared_by);
  return (static_cast<std::uint32_t>(thread >> shared_by) + static_cast<std::uint32_t>(iteration) * apart) %
         items;
}

// Bit-identical operations on device and CPU.

struct Escape {
  float c_real, c_imaginary;
  float real = 0, imaginary = 0;

  OCCBENCH_HOST_DEVICE explicit Escape(std::uint32_t bits)
      : c_real(fmaf(static_cast<float>(bits & 0xFFFF), 0x1.4p-15F, -2.0F)),
        c_imaginary(fmaf(static_cast<float>(bits >> 16), 0x1.4p-15F, -1.25F)) {}
  [[nodiscard]] OCCBENCH_HOST_DEVICE bool done() const {
    return fmaf(real, real, imaginary * imaginary) > 4.0F;
  }
  OCCBENCH_HOST_DEVICE void step() {
    const float next = fmaf(real, real, fmaf(-imaginary, imaginary, c_real));
    imaginary = fmaf(real + real, imaginary, c_imaginary);
    real = next;
  }
};

/// Henon's map, chaotic from near the origin.
struct Henon {
  float x;
  float last = 0;

  OCCBENCH_HOST_DEVICE explicit Henon(std::uint32_t bits)
      : x(fmaf(static_cast<float>(bits >> 16), 0x1p-17F, -0.25F)) {}
  OCCBENCH_HOST_DEVICE void step() {
    const float next = fmaf(-1.4F * x, x, fmaf(0.3F, last, 1.0F));
    last = x;
    x = next;
  }
};

/// For numbers up to 2^16, whose successors have at most 31 bits.
OCCBENCH_HOST_DEVICE constexpr std::uint32_t collatz(std::uint32_t n) {
  return n % 2 == 0 ? n / 2 : 3 * n + 1;
}

/// The steps of an item, or its result (bits of a float).
template <Form form>
__device__ __forceinline__ std::uint32_t result_of(std::uint32_t bits, unsigned rare_mask) {
  std::uint32_t steps = 0;
  if constexpr (form == Form::escape) {
    Escape z(bits);
#pragma unroll 1
    for (; steps < max_steps && !z.done(); ++steps) z.step();
    return steps;
  } else if constexpr (form == Form::collatz) {
#pragma unroll 1
    for (std::uint32_t n = (bits & 0xFFFF) + 1; n != 1; ++steps) n = collatz(n);
    return steps;
  } else {
    if ((bits & rare_mask) != 0) return 0;
    Henon at(bits);
#pragma unroll 1
    for (; steps < rare_steps; ++steps) at.step();
    return __float_as_uint(at.x);
  }
}

template <Form form>
struct Body {
  using Parameters = uneven_loops::Parameters;

  static __device__ void run(const Parameters& p) {
    const std::int64_t index = device::thread_index();
    std::uint32_t sum = 0;
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration)
      sum += result_of<form>(mix(item_of(index, iteration, p.shared_by) + 1), p.rare_mask);
    p.output[index] = sum;
  }
};

namespace {

/// Per item: its steps, and the value added to the sum.
struct Reference {
  std::array<int, items> steps{};
  std::array<std::uint32_t, items> result{};
};

template <Form form>
Reference reference_of(unsigned rare_mask) {
  Reference reference;
  for (std::uint32_t item = 0; item < items; ++item) {
    const std::uint32_t bits = mix(item + 1);
    int& steps = reference.steps[item];
    if (form == Form::escape)
      for (Escape z(bits); steps < max_steps && !z.done(); ++steps) z.step();
    if (form == Form::collatz)
      for (std::uint32_t n = (bits & 0xFFFF) + 1; n != 1; ++steps) n = collatz(n);
    reference.result[item] = static_cast<std::uint32_t>(steps);
    if (form == Form::rare && (bits & rare_mask) == 0) {
      Henon at(bits);
      for (; steps < rare_steps; ++steps) at.step();
      reference.result[item] = std::bit_cast<std::uint32_t>(at.x);
    }
  }
  return reference;
}

/// Over all warps and iterations: mean steps per lane, mean of the maximum per warp, and share of warps with
/// any.
struct Lengths {
  double mean = 0;
  double longest = 0;
  double any = 0;
};

Lengths lengths_of(const Reference& reference, int shared_by) {
  const auto& steps = reference.steps;
  const int per_warp = 32 >> shared_by;
  Lengths lengths;
  for (int first = 0; first < items; first += per_warp) {
    int longest = 0;
    for (int i = first; i < first + per_warp; ++i) {
      longest = std::max(longest, steps[static_cast<std::size_t>(i)]);
      lengths.mean += double{1} / items * steps[static_cast<std::size_t>(i)];
    }
    lengths.longest += double{1} * per_warp / items * longest;
    lengths.any += double{1} * per_warp / items * (longest > 0);
  }
  return lengths;
}

/// For all threads and iterations: threads take the items in turn, from a different start in each iteration.
double all_steps(const Reference& reference, const Shape& shape, int shared_by) {
  std::array<double, items + 1> before{};
  for (std::size_t i = 0; i < items; ++i) before[i + 1] = before[i] + reference.steps[i];
  const std::int64_t groups = shape.threads() >> shared_by;
  const auto up_to = [&](std::int64_t end) {
    return static_cast<double>(end / items) * before[items] + before[static_cast<std::size_t>(end % items)];
  };
  double sum = 0;
  for (std::int64_t iteration = 0; iteration < shape.iterations; ++iteration) {
    const std::int64_t first = item_of(0, iteration, shared_by);
    sum += up_to(first + groups) - up_to(first);
  }
  return sum * (1 << shared_by);
}

struct Kind {
  std::string name;
  std::string series;
  int shared_by = 0;
  unsigned rare_mask = 0;
};

template <Form form>
void add(const Kind& kind, const Reference& reference, const Instructions& instructions, double step_cycles,
         double step_instructions) {
  const Lengths lengths = lengths_of(reference, kind.shared_by);
  const bool rare = form == Form::rare;
  const double warp_steps = rare ? rare_steps * lengths.any : lengths.longest;
  constexpr double schedulers = 4;
  Dials dials;
  dials.data_type = form == Form::collatz ? "u32" : "f32";
  dials.lanes_apart = rare ? std::optional<int>{} : 32 - (1 << kind.shared_by);
  add_variant({
      .family = "uneven_loops",
      .name = kind.name,
      .series = kind.series,
      .form = kind.series,
      .baseline = kind.series + (rare ? "-1in1" : "-items1"),
      .dials = dials,
      .ceiling = form == Form::collatz ? Ceiling::none : Ceiling::fp32,
      .iteration = {.flop = lengths.mean * flop_per_step(form),
                    .latency_cycles = 60 + step_cycles * warp_steps,
                    .pipe_cycles_per_warp = step_instructions / schedulers * warp_steps},
      .instructions = instructions,
      // Mean of the longest lane's steps; some iterations of a warp have no rare item.
      .loop_trips = {1, std::round(warp_steps)},
      .l2_before = L2::warm,
      .max_iterations = unless_too_many_threads<std::uint32_t>(std::int64_t{1} << 24),
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const double done = all_steps(reference, shape, kind.shared_by);
            Problem problem;
            problem.set_parameters(Parameters{.output = arena.output<std::uint32_t>(),
                                              .iterations = static_cast<int>(shape.iterations),
                                              .shared_by = kind.shared_by,
                                              .rare_mask = kind.rare_mask});
            problem.work = {.bytes = static_cast<double>(shape.threads()) * sizeof(std::uint32_t),
                            .flop = done * flop_per_step(form),
                            .operations = done};
            problem.poison = poison_one_per_thread<std::uint32_t>(arena, shape);
            problem.mismatch = [=, &arena] {
              return arena.first_mismatch<std::uint32_t>(
                  static_cast<std::size_t>(shape.threads()), 0, [=](std::size_t thread) {
                    std::uint32_t sum = 0;
                    for (std::int64_t iteration = 0; iteration < shape.iterations; ++iteration)
                      sum +=
                          reference
                              .result[item_of(static_cast<std::int64_t>(thread), iteration, kind.shared_by)];
                    return double{1} * sum;
                  });
            };
            return problem;
          },
      .entry = reinterpret_cast<const void*>(free_entry<Body<form>>),
  });
}

template <Form form>
void add_items(const std::string& series, const Instructions& instructions, double step_cycles,
               double step_instructions) {
  const Reference reference = reference_of<form>(0);
  for (int shared_by = 5; shared_by >= 0; --shared_by)
    add<form>({.name = series + "-items" + std::to_string(32 >> shared_by),
               .series = series,
               .shared_by = shared_by},
              reference, instructions, step_cycles, step_instructions);
}

const Registration registered{[] {
  add_items<Form::escape>("escape", {{"FADD", 1}, {"FFMA", 4}, {"FMUL", 1}}, 50, 11);
  add_items<Form::collatz>("collatz", {{"LOP3", 1}}, 45, 9);
  for (const unsigned one_in : {1U, 8U, 32U, 128U})
    add<Form::rare>({.name = "rare-1in" + std::to_string(one_in), .series = "rare", .rare_mask = one_in - 1},
                    reference_of<Form::rare>(one_in - 1), {{"FFMA", 2}, {"FMUL", 1}}, 28, 8);
}};

}  // namespace

}  // namespace occbench::uneven_loops
