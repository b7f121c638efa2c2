// SPDX-License-Identifier: Apache-2.0
// Shows: a time step of a lattice-Boltzmann fluid: 9 or 19 arrays in and out, with a register per value.
// Expected: DRAM bandwidth with few warps, since all loads of a site are in flight at once; more sites per
//   thread need fewer warps, but their registers reduce residency. A cap far below the need gains warps and
//   loses them to spills.
// Published: Toelke and Krafczyk, 'TeraFLOP computing on a desktop PC with GPUs for 3D CFD'
//   (IJCFD 2008); Wellein et al., 'On the single processor performance of simple lattice Boltzmann kernels'
//   (Computers and Fluids 2006); Lehmann et al., 'Accuracy and performance of the lattice Boltzmann method
//   with 64-bit, 32-bit, and customized 16-bit number formats' (Phys. Rev. E 2022); Qian, d'Humieres and
//   Lallemand 1992 (the lattices, the collision).
#include <array>
#include <cstdint>

#include "kernels/family.cuh"

namespace occbench::lattice_boltzmann {

constexpr double relaxation = 1.6;   // time step over relaxation time
constexpr double disturbance = 0.1;  // of the initial distributions, relative to a fluid at rest
constexpr int line_sites = 32;       // per L1 line

/// Velocity of a population of particles, in sites per step.
struct Velocity {
  int x, y, z;
};

// Velocity 0 is rest; 1 and 2 are opposite, 3 and 4 as well, and so on, axes first. These are functions
// because device code cannot read constexpr arrays of the host.

/// A plane with rows of 4096 sites.
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

/// Planes of 256 x 256 sites.
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

/// Distance that a population moves in a step, in sites. Boundaries are helical: what leaves a row enters
/// the next, so no branches are needed.
template <class Lattice>
constexpr int stride(int k) {
  const Velocity v = Lattice::velocity(k);
  return v.x + v.y * Lattice::row + v.z * Lattice::plane;
}

/// Sites before the first and after the last updated one that a step reaches, rounded up to lines.
template <class Lattice>
constexpr int padding() {
  int farthest = 0;
  for (int k = 0; k < Lattice::velocities; ++k) farthest = std::max(farthest, stride<Lattice>(k));
  return (farthest + line_sites - 1) / line_sites * line_sites;
}

// The hardware's approximation, as under -use_fast_math.
__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// c u for velocity components of -1, 0 or 1, without multiplication.
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
    const float* from[velocities];  ///< each population's source for site 0
    float* to[velocities];
    int iterations;
  };

  /// BGK collision: f + relaxation (equilibrium - f), equilibrium w rho (1 + 3 c u + 9/2 (c u)^2 - 3/2 u^2).
  /// With v = 3/2 u that is w (rest + 2 rho c v + 2 rho (c v)^2): opposite velocities share the even terms
  /// and differ in the sign of the odd one.
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
          momentum[axis] = difference;  // first term of the sum
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
    // 32-bit indices: a 64-bit address per array would take more registers than the data.
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
        // maps random numbers to positive distributions near those of a fluid at rest
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

/// Population k of site `i` of `sites` after the step, by the textbook formula.
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

template <class Lattice, int sites, int cap = 0>
void add(bool spills = false) {
  using Kernel = Body<Lattice, sites>;
  constexpr int velocities = Lattice::velocities;
  constexpr int axes = Lattice::axes;
  constexpr int pairs = velocities / 2;
  constexpr int diagonals = pairs - axes;  // with two axes each
  constexpr int pad = padding<Lattice>();
  constexpr double bytes_per_site = 2.0 * sizeof(float) * velocities;
  // per site
  constexpr int additions = 5 * pairs + 3 * diagonals;
  constexpr int fma = velocities + axes + 1 + 3 * pairs;
  constexpr int products = 6 + axes + 3 * pairs;
  constexpr double flop_per_site = additions + 2.0 * fma + products + 1;  // and one reciprocal
  // populations that move along a row: a warp's values straddle two lines
  constexpr int shifted = [] {
    int count = 0;
    for (int k = 0; k < velocities; ++k) count += Lattice::velocity(k).x != 0;
    return count;
  }();
  const std::string lattice = "d" + std::to_string(axes) + "q" + std::to_string(velocities);
  const auto sites_of = [](const Shape& shape) {
    return static_cast<std::size_t>(shape.threads() * shape.iterations) * sites;
  };
  entry_of<Kernel, cap>().add({
      .family = "lattice_boltzmann",
      .name = lattice + "-sites" + std::to_string(sites),
      .form = lattice,
      .dials = {.ilp = sites, .bytes_per_access = sizeof(float)},
      .ceiling = Ceiling::dram,
      // the sums and reciprocal of one site, and the issue for all sites; the L1 is the busiest pipe
      .iteration = {.dram_bytes = bytes_per_site * sites,
                    .flop = flop_per_site * sites,
                    .latency_cycles = 100.0 + 12.0 * velocities * sites,
                    .dram_waits = 1,
                    .pipe_cycles_per_warp = double(2 * velocities + shifted) * sites},
      // Each value is read once. Adjacent warps share the sector of a shifted population, the later one hits
      // a cache.
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
            // An int indexes a population's sites: with 9 populations that suffices for an arena of 77 GB.
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
            // Tolerance: a density near 1 is the sum of 9 or 19 rounded values, with an error of up to 3e-7.
            // The smallest terms, of second order in u, are 1e-5.
            return problem_of<float>(arena, p,
                                     {.bytes = bytes_per_site * static_cast<double>(n),
                                      .flop = flop_per_site * static_cast<double>(n)},
                                     velocities * n, 5e-7,
                                     [=](std::size_t i) { return reference<Lattice>(i % n, i / n, n); });
          },
  });
}

const Registration registered{[] {
  for_each_value<1, 2, 4>([]<int sites>(std::integral_constant<int, sites>) { add<D2Q9, sites>(); });
  for_each_value<1, 2>([]<int sites>(std::integral_constant<int, sites>) { add<D3Q19, sites>(); });
  // Without a cap nvcc 13 uses 40 and 56 registers and delays the second site's loads; with these it loads
  // all first.
  add<D2Q9, 2, 48>();
  add<D3Q19, 2, 80>();
  // It uses 96, 40 and 56: these caps allow 12, 16 and 12 more warps, but spill.
  add<D2Q9, 4, 64>(true);
  add<D3Q19, 1, 32>(true);
  add<D3Q19, 2, 40>(true);
}};

}  // namespace

}  // namespace occbench::lattice_boltzmann
