// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/modules.hpp"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/attach/preload/machine_code.hpp"
#include "harness/attach/preload/ptx.hpp"

namespace occbench::attach {

namespace {

/// Compute capabilities of all devices; empty before the driver is initialised.
std::vector<int> capabilities(const Driver& driver) {
  std::vector<int> found;
  int count = 0;
  if (driver.device_get_count == nullptr || driver.device_get_count(&count) != CUDA_SUCCESS) return found;
  for (CUdevice device = 0; device < count; ++device) {
    int major = 0, minor = 0;
    if (driver.device_get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) ==
            CUDA_SUCCESS &&
        driver.device_get_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) ==
            CUDA_SUCCESS)
      found.push_back(10 * major + minor);
  }
  return found;
}

}  // namespace

void Modules::read(const void* image) {
  if (image == nullptr || options_.observe) return;
  if (options_.registers.empty()) return search(image);
  constexpr std::size_t look = 4096, most = std::size_t{64} << 20;
  const auto* const text = static_cast<const char*>(image);
  if (!is_ptx(std::string_view(text, strnlen(text, look)))) return;
  const std::size_t size = strnlen(text, most);
  const std::lock_guard lock(mutex_);
  if (size < most) versions_.add(std::string(text, size));
}

void Modules::read_file(const char* path) {
  if (path == nullptr || options_.observe) return;
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  content.append(sizeof(std::uint64_t), '\0');  // terminates the text
  if (file) read(content.data());
}

/// Kernels that read their shared memory size are skipped. Those with independent blocks are not, even if the
/// whole grid is resident.
void Modules::search(const void* image) {
  const SearchedCode found = search_code(image, capabilities(driver_));
  const std::lock_guard lock(mutex_);
  skip_rules_.add(found);
  if (found.is_whole || std::exchange(is_search_noted_, true)) return;
  writer_.note(
      "not all machine code could be searched for kernels that read %dynamic_smem_size: "
      "--kernel excludes such a kernel");
}

}  // namespace occbench::attach
