// SPDX-License-Identifier: Apache-2.0
// Shows: a time step of a lattice-Boltzmann fluid: 9 or 19 arrays in, as many out, and a register for each
//   value.
// Expected: DRAM's rate from few warps, as each has all loads of a site under way; with more sites a thread
//   from fewer yet, while their registers let fewer reside. A cap far below the need brings warps, and spills
// that eat them up. Published: Toelke and Krafczyk, 'TeraFLOP computing on a desktop PC with GPUs for 3D CFD'
//   (IJCFD 2008); Wellein et al., 'On the single processor performance of simple lattice Boltzmann kernels'
//   (Computers and Fluids 2006); Lehmann et al., 'Accuracy and performance of the lattice Boltzmann method
//   with 64-bit, 32-bit, and customized 16-bit number formats' (Phys. Rev. E 2022); Qian, d'Humieres and
//   Lallemand 1992 (the lattices, the collision).
#include <array>
#include <cstdint>

#include "kernels/family.cuh"

namespace occbench::lattice_boltzmann {

constexpr double relaxation =
    1.6;  // of a step towards the equilibrium: the time step over the relaxation time
constexpr double disturbance =
    0.1;                        // of the distributions before the step, relative to those of a fluid at rest
constexpr int line_sites = 32;  // of a line of the L1

/// Velocity of a population of particles, in sites per step.
struct Velocity {
  int x, y, z;
};

// Velocity 0 is rest, 1 and 2 are opposite to each other, so are 3 and 4 and so on, first along the axes.
// Functions, as device code reads no constexpr arrays of the host's.

/// In a plane of rows of 4096 sites.
struct D2Q9 {
  static constexpr int axes = 2;
  static constexpr int velocities = 9;
  static constexpr int row = 4096;  // sites
  static constexpr int plane = 0;
  static OCCBENCH_HOST_DEVICE constexpr Velocity velocity(int k) {
    constexpr Velocity of_pair[] = {{1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {1, -1, 0}};
    if (k == 0) return {0, 0, 0};
    const Velocity v = of_pair[(k - 1) / 2];
    return k % 2 == 1 ? v : Velocity{-v.x, -v.y, -v.z};
  }
  static OCCBENCH_HOST_DEVICE constexpr double weight(int k) {
    return k == 0 ? 4.0 / 9 : k <= 2 * axes ? 1.0 / 9 : 1.0 / 36;
  }
};

/// In planes of 256 x 256 sites.
struct D3Q19 {
  static constexpr int axes = 3;
  static constexpr int velocities = 19;
  static constexpr int row = 256;  // sites
  static constexpr int plane = row * 256;
  static OCCBENCH_HOST_DEVICE constexpr Velocity velocity(int k) {
    constexpr Velocity of_pair[] = {{1, 0, 0}, {0, 1, 0},  {0, 0, 1}, {1, 1, 0}, {1, -1, 0},
                                    {1, 0, 1}, {1, 0, -1}, {0, 1, 1}, {0, 1, -1}};
    if (k == 0) return {0, 0, 0};
    const Velocity v = of_pair[(k - 1) / 2];
    return k % 2 == 1 ? v : Velocity{-v.x, -v.y, -v.z};
  }
  static OCCBENCH_HOST_DEVICE constexpr double weight(int k) {
    return k == 0 ? 1.0 / 3 : k <= 2 * axes ? 1.0 / 18 : 1.0 / 36;
  }
};

/// How far ahead of where it came from a population is after a step, in sites. Rows follow each other, as
/// planes do, so that what leaves a row enters the next: helical boundaries, which need no question at a
/// row's end.
template <class Lattice>
constexpr int stride(int k) {
  const Velocity v = Lattice::velocity(k);
  return v.x + v.y * Lattice::row + v.z * Lattice::plane;
}

/// Sites before the first and behind the last one that is updated: whole lines, as far as one step reaches.
template <class Lattice>
constexpr int padding() {
  int farthest = 0;
  for (int k = 0; k < Lattice::velocities; ++k) farthest = std::max(farthest, stride<Lattice>(k));
  return (farthest + line_sites - 1) / line_sites * line_sites;
}

// The hardware's own reciprocal, as -use_fast_math has it.
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// c u of a velocity whose components are -1, 0 or 1, without a product.
__device__ __forceinline__ float along(const Velocity& c, const float (&u)[3]) {
  if (c.x != 0 && c.y != 0) return c.y > 0 ? u[0] + u[1] : u[0] - u[1];
  if (c.x != 0 && c.z != 0) return c.z > 0 ? u[0] + u[2] : u[0] - u[2];
  if (c.y != 0 && c.z != 0) return c.z > 0 ? u[1] + u[2] : u[1] - u[2];
  return c.x != 0 ? u[0] : c.y != 0 ? u[1] : u[2];
}

/// Thread t of n updates sites t, t + n, t + 2n, ..., `sites` of them at once.
template <class Lattice, int sites>
struct Body {
  static constexpr int velocities = Lattice::velocities;

  struct Parameters {
    const float* from[velocities];  ///< where site 0 finds each population: on the site that it leaves
    float* to[velocities];
    int iterations;
  };

  /// Bhatnagar, Gross and Krook's collision: f + relaxation (equilibrium - f), the latter being
  /// w rho (1 + 3 c u + 9/2 (c u)^2 - 3/2 u^2). With v = 3/2 u that is w (rest + 2 rho c v + 2 rho (c v)^2):
  /// opposite velocities share the even terms, and differ by the sign of the odd one.
  static __device__ void collide(float (&f)[velocities]) {
    float density = f[0];
    float momentum[3] = {};
#pragma unroll
    for (int k = 1; k < velocities; k += 2) {
      density += f[k] + f[k + 1];
      const float difference = f[k] - f[k + 1];
      const Velocity c = Lattice::velocity(k);
      const int of_axis[] = {c.x, c.y, c.z};
#pragma unroll
      for (int axis = 0; axis < Lattice::axes; ++axis) {
        if (k == 2 * axis + 1)
          momentum[axis] = difference;  // the first of its sum
        else if (of_axis[axis] != 0)
          momentum[axis] += of_axis[axis] > 0 ? difference : -difference;
      }
    }
    const float scale = 1.5f * reciprocal(density);
    float v[3] = {};
    float square = 0;
#pragma unroll
    for (int axis = 0; axis < Lattice::axes; ++axis) {
      v[axis] = scale * momentum[axis];
      square = axis == 0 ? v[axis] * v[axis] : fmaf(v[axis], v[axis], square);
    }
    const float part = static_cast<float>(relaxation) * density;
    const float twice = static_cast<float>(2 * relaxation) * density;
    const float rest = part * fmaf(static_cast<float>(-2.0 / 3), square, 1.0f);
    constexpr auto kept = static_cast<float>(1 - relaxation);
    f[0] = fmaf(static_cast<float>(Lattice::weight(0)), rest, kept * f[0]);
#pragma unroll
    for (int k = 1; k < velocities; k += 2) {
      const auto weight = static_cast<float>(Lattice::weight(k));
      const float cv = along(Lattice::velocity(k), v);
      const float odd = twice * cv;
      const float even = fmaf(odd, cv, rest);
      f[k] = fmaf(weight, even + odd, kept * f[k]);
      f[k + 1] = fmaf(weight, even - odd, kept * f[k + 1]);
    }
  }

  static __device__ void run(const Parameters& p) {
    // 32 bits: a 64-bit address of each array would take more registers than the data
    const auto n = static_cast<int>(device::thread_count());
    auto at = static_cast<int>(device::thread_index());
#pragma unroll 1
    for (int iteration = 0; iteration < p.iterations; ++iteration, at += sites * n) {
      float f[sites][velocities];
#pragma unroll
      for (int j = 0; j < sites; ++j)
#pragma unroll
        for (int k = 0; k < velocities; ++k) f[j][k] = p.from[k][at + j * n];
#pragma unroll
      for (int j = 0; j < sites; ++j) {
        // from random numbers to distributions near those of a fluid at rest, positive as they have to be
#pragma unroll
        for (int k = 0; k < velocities; ++k)
          f[j][k] = fmaf(static_cast<float>(disturbance * Lattice::weight(k)), f[j][k],
                         static_cast<float>(Lattice::weight(k)));
        collide(f[j]);
#pragma unroll
        for (int k = 0; k < velocities; ++k) p.to[k][at + j * n] = f[j][k];
      }
    }
  }
};

namespace {

/// Population k of site `i` after the step, of `sites` sites: as the textbooks have it.
template <class Lattice>
double reference(std::size_t i, std::size_t k, std::size_t sites) {
  constexpr std::size_t pad = padding<Lattice>();
  const auto before = [&](int l) {
    const std::size_t from = l * (sites + 2 * pad) + pad + i - stride<Lattice>(l);
    return Lattice::weight(l) * (1 + disturbance * double{random_value<float>(from)});
  };
  double density = 0;
  std::array<double, 3> u{};
  for (int l = 0; l < Lattice::velocities; ++l) {
    const double f = before(l);
    const Velocity c = Lattice::velocity(l);
    density += f;
    u[0] += c.x * f;
    u[1] += c.y * f;
    u[2] += c.z * f;
  }
  for (double& component : u) component /= density;
  const auto own = static_cast<int>(k);
  const Velocity c = Lattice::velocity(own);
  const double cu = c.x * u[0] + c.y * u[1] + c.z * u[2];
  const double square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
  const double equilibrium = Lattice::weight(own) * density * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * square);
  const double f = before(own);
  return f + relaxation * (equilibrium - f);
}

template <class Lattice, int sites>
void add(const void* entry, bool spills, int register_cap = 0) {
  using Kernel = Body<Lattice, sites>;
  constexpr int velocities = Lattice::velocities;
  constexpr int axes = Lattice::axes;
  constexpr int pairs = velocities / 2;
  constexpr int diagonals = pairs - axes;  // each of two axes
  constexpr int pad = padding<Lattice>();
  constexpr double bytes_per_site = 2.0 * sizeof(float) * velocities;
  // of a site: sums, differences and even +- odd; where they come from, square, rest and pairs; scales and
  // products
  constexpr int additions = 5 * pairs + 3 * diagonals;
  constexpr int fma = velocities + axes + 1 + 3 * pairs;
  constexpr int products = 6 + axes + 3 * pairs;
  constexpr double flop_per_site = additions + 2.0 * fma + products + 1;  // one reciprocal
  // a warp's values of a population that moves along its row begin and end within a line
  constexpr int shifted = [] {
    int count = 0;
    for (int k = 0; k < velocities; ++k) count += Lattice::velocity(k).x != 0;
    return count;
  }();
  const std::string lattice = "d" + std::to_string(axes) + "q" + std::to_string(velocities);
  const std::string series = lattice + "-sites" + std::to_string(sites);
  const auto sites_of = [](const Shape& shape) {
    return static_cast<std::size_t>(shape.threads() * shape.iterations) * sites;
  };
  add_variant({
      .family = "lattice_boltzmann",
      .name = series + (register_cap > 0 ? "-maxnreg" + std::to_string(register_cap) : ""),
      .series = series,
      .form = lattice,
      .dials = {.ilp = sites,
                .bytes_per_access = sizeof(float),
                .route = register_cap > 0 ? RegisterRoute::maxnreg : RegisterRoute::free,
                .register_cap = register_cap},
      .ceiling = Ceiling::dram,
      // the sums of one site, its reciprocal and what the warp issues for all of them; the busiest pipe is
      // the L1's
      .iteration = {.dram_bytes = bytes_per_site * sites,
                    .flop = flop_per_site * sites,
                    .latency_cycles = 100.0 + 12.0 * velocities * sites,
                    .dram_waits = 1,
                    .pipe_cycles_per_warp = double(2 * velocities + shifted) * sites},
      // Each value is read once. Warps side by side share a sector where a population is shifted: the later
      // one has it from a cache.
      .flow = {.layout = {.lines = static_cast<double>(velocities + shifted) / velocities}},
      .instructions = {{"LDG.32", velocities * sites},
                       {"STG.32", velocities * sites},
                       {"FADD", additions * sites},
                       {"FFMA", fma * sites},
                       {"FMUL", products * sites},
                       {"MUFU", sites}},
      .may_spill = spills,
      .l2_before = L2::dirty,
      .max_iterations =
          [](const Arena& arena, const Shape& shape) {
            // an int counts a population's sites: at 9 of them the arena would have to be of 77 GB to hold
            // more
            const auto room_in =
                static_cast<std::int64_t>(arena.input_bytes() / sizeof(float) / velocities) - 2 * pad;
            const auto room_out =
                static_cast<std::int64_t>(arena.output_bytes() / sizeof(float) / velocities);
            return std::max<std::int64_t>(0, std::min(room_in, room_out)) / sites / shape.threads();
          },
      .prepare =
          [=](Arena& arena, const Shape& shape) {
            const std::size_t n = sites_of(shape);
            typename Kernel::Parameters p{};
            for (int k = 0; k < velocities; ++k) {
              p.from[k] = arena.input<float>() + k * (n + 2 * pad) + pad - stride<Lattice>(k);
              p.to[k] = arena.output<float>() + k * n;
            }
            p.iterations = static_cast<int>(shape.iterations);
            Problem problem;
            problem.set_parameters(p);
            problem.work = {.bytes = bytes_per_site * static_cast<double>(n),
                            .flop = flop_per_site * static_cast<double>(n)};
            problem.poison = [=, &arena] { arena.poison_output(velocities * n * sizeof(float)); };
            // A density near 1 is the sum of 9 or 19 rounded values: 3e-7 or so at worst, 2e-7 in the same
            // arithmetic on a CPU. Terms of second order in u, the smallest there are, come to 1e-5.
            problem.reference_reaches = true;
            problem.mismatch = [=, &arena] {
              return arena.first_mismatch<float>(
                  velocities * n, 5e-7, [=](std::size_t i) { return reference<Lattice>(i % n, i / n, n); });
            };
            return problem;
          },
      .entry = entry,
  });
}

template <class Lattice, int sites>
void add_free() {
  add<Lattice, sites>(reinterpret_cast<const void*>(free_entry<Body<Lattice, sites>>), false);
}
template <class Lattice, int sites, int cap>
void add_capped(bool spills) {
  add<Lattice, sites>(reinterpret_cast<const void*>(capped_entry<Body<Lattice, sites>, cap>), spills, cap);
}

const Registration registered{[] {
  for_each_value<1, 2, 4>([]<int sites>(std::integral_constant<int, sites>) { add_free<D2Q9, sites>(); });
  for_each_value<1, 2>([]<int sites>(std::integral_constant<int, sites>) { add_free<D3Q19, sites>(); });
  // Left free, nvcc 13 settles for 40 and 56 registers and puts the second site's loads off; given these it
  // has all loads first.
  add_capped<D2Q9, 2, 48>(false);
  add_capped<D3Q19, 2, 80>(false);
  // It takes 96, 40 and 56: with these 12, 16 and 12 more warps reside, but values spill.
  add_capped<D2Q9, 4, 64>(true);
  add_capped<D3Q19, 1, 32>(true);
  add_capped<D3Q19, 2, 40>(true);
}};

}  // namespace

}  // namespace occbench::lattice_boltzmann
