// SPDX-License-Identifier: Apache-2.0
#include "harness/device/arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace occbench {

/// An array that grows without moving: reserves addresses for `count` elements of T and commits memory on
/// use; elements are zero until written. Throws std::bad_alloc if the system has no addresses left.
template <class T>
class Reserved {
 public:
  Reserved() = default;
  explicit Reserved(std::size_t count) : count_(count) {
    void* const at = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(at);
  }
  ~Reserved() {
    if (data_ != nullptr) munmap(data_, count_ * sizeof(T));
  }
  Reserved(Reserved&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Reserved& operator=(Reserved&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

template <class T>
struct Arena::Input {
  DeviceBuffer<T> device;
  Reserved<T> host;
  std::size_t computed = 0;  ///< number of computed elements
  std::mutex computing;
};
struct Arena::Inputs {
  Input<float> f32;
  Input<double> f64;
};

ArenaSizes arena_sizes(std::size_t free_bytes) {
  constexpr std::size_t gibibyte = std::size_t{1} << 30;
  const auto share = [&](std::size_t most, std::size_t divisor) {
    return std::min(most, free_bytes / divisor) & ~std::size_t{0xFFFFF};
  };
  return {.input_bytes = share(5 * gibibyte, 5), .output_bytes = share(5 * gibibyte / 2, 8)};
}

Arena::Arena(const Stream& stream, const ArenaSizes& sizes) : Arena(sizes) {
  stream_ = &stream;
  output_ = DeviceBuffer<std::byte>(sizes.output_bytes);
  poison_output(sizes.output_bytes);
}

Arena::Arena(const ArenaSizes& sizes) : sizes_(sizes), inputs_(new Inputs) {}

Arena::~Arena() { delete inputs_; }

template <class T>
Arena::Input<T>& Arena::slot() {
  if constexpr (std::is_same_v<T, float>)
    return inputs_->f32;
  else
    return inputs_->f64;
}

template <class T>
const T* Arena::input() {
  if (stream_ == nullptr) return placeholder<T>();
  auto& in = slot<T>();
  if (in.device.size() == 0) {
    in.device = DeviceBuffer<T>(sizes_.input_bytes / sizeof(T));
    instruments::fill_random(in.device.data(), in.device.size(), stream_->get());
  }
  return in.device.data();
}

template <class T>
std::span<const T> Arena::reference_input(std::size_t count) {
  auto& in = slot<T>();
  const std::scoped_lock lock(in.computing);
  if (in.host.size() == 0) in.host = Reserved<T>(sizes_.input_bytes / sizeof(T));
  if (count > in.host.size()) throw std::logic_error("a reference asks for more input than there is");
  for (; in.computed < count; ++in.computed) in.host.data()[in.computed] = random_value<T>(in.computed);
  return {in.host.data(), count};
}

namespace {
thread_local const Arena::OutputCopy* copy_read = nullptr;
}

Arena::ReadCopy::ReadCopy(const OutputCopy& copy) { copy_read = &copy; }
Arena::ReadCopy::~ReadCopy() { copy_read = nullptr; }
const Arena::OutputCopy* Arena::copy_in_use() { return copy_read; }

void Arena::copy_output(OutputCopy& copy) {
  // A check may read whole pages that were written in part.
  constexpr std::size_t page = std::size_t{64} << 10;
  copy.bytes = std::min(poisoned_ + page, sizes_.output_bytes);
  copy.samples = samples_;
  if (copy.data.size() < copy.bytes) {
    copy.data = {};  // frees the old buffer first
    copy.data = PinnedBuffer<std::byte>(copy.bytes + copy.bytes / 2);
  }
  check(cudaMemcpyAsync(copy.data.data(), output_.data(), copy.bytes, cudaMemcpyDeviceToHost, stream_->get()),
        "reading results back");
  stream_->synchronize();
}

void Arena::poison_output(std::size_t bytes, int pattern) {
  poisoned_ = std::min(bytes, sizes_.output_bytes);
  check(cudaMemsetAsync(output_.data(), pattern, poisoned_, stream_->get()), "poisoning the output");
}

void Arena::set_output(std::size_t first, const void* from, std::size_t bytes) {
  std::byte* const to = output_.data() + first;
  if (from == nullptr)
    check(cudaMemsetAsync(to, 0, bytes, stream_->get()), "clearing the output");
  else
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_->get()), "setting the output");
}

instruments::Digest Arena::digest_output(std::size_t bytes) {
  if (digest_.size() == 0) digest_ = DeviceBuffer<instruments::Digest>(1);
  check(cudaMemsetAsync(digest_.data(), 0, sizeof(instruments::Digest), stream_->get()), "reading an output");
  instruments::digest(reinterpret_cast<const std::uint32_t*>(output_.data()),
                      (bytes > 0 ? bytes : poisoned_) / sizeof(std::uint32_t), digest_.data(),
                      stream_->get());
  instruments::Digest found;
  check(cudaMemcpyAsync(&found, digest_.data(), sizeof found, cudaMemcpyDeviceToHost, stream_->get()),
        "reading an output");
  stream_->synchronize();
  return found;
}

const void* Arena::gather(std::size_t first_byte, std::size_t samples, std::size_t count,
                          std::size_t element_bytes) {
  if (copy_read != nullptr) {
    thread_local std::vector<std::byte> gathered;
    gathered.resize(samples * element_bytes);
    for (std::size_t k = 0; k < samples; ++k)
      std::memcpy(gathered.data() + k * element_bytes,
                  download(first_byte + sample_place(k, samples, count) * element_bytes, element_bytes),
                  element_bytes);
    return gathered.data();
  }
  if (staging_.size() == 0) staging_ = PinnedBuffer<std::byte>(staging_bytes);
  instruments::gather(staging_.data(), output_.data() + first_byte, element_bytes, samples, count,
                      stream_->get());
  stream_->synchronize();
  return staging_.data();
}

const void* Arena::download(std::size_t first, std::size_t bytes) {
  if (copy_read != nullptr) {
    if (first + bytes > copy_read->bytes) throw std::logic_error("a check reads what was not poisoned");
    return copy_read->data.data() + first;
  }
  if (staging_.size() == 0) staging_ = PinnedBuffer<std::byte>(staging_bytes);
  check(
      cudaMemcpyAsync(staging_.data(), output_.data() + first, bytes, cudaMemcpyDeviceToHost, stream_->get()),
      "reading results back");
  stream_->synchronize();
  return staging_.data();
}

std::string Arena::describe(std::size_t element, std::size_t count, double actual, double expected) {
  char line[160];
  std::snprintf(line, sizeof line, "wrong result: element %zu of %zu is %.9g, the CPU reference says %.9g",
                element, count, actual, expected);
  return line;
}

template const float* Arena::input<float>();
template const double* Arena::input<double>();
template std::span<const float> Arena::reference_input<float>(std::size_t);
template std::span<const double> Arena::reference_input<double>(std::size_t);

}  // namespace occbench
