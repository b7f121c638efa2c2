// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/user_kernels/user_data.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace occbench {

namespace {

constexpr std::size_t alignment = 256;  // bytes, as cudaMalloc's

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// The arena is too small, which is not an error of the kernel.
struct DoesNotFit : std::runtime_error {
  explicit DoesNotFit(const std::string& what) : std::runtime_error(what) {}
};

/// Takes `bytes` of `room` behind the `used` ones; returns where they begin.
std::size_t take(std::size_t& used, std::size_t bytes, std::size_t room, const char* what) {
  const std::size_t first = used;
  if (bytes > room - std::min(room, first))
    throw DoesNotFit("needs more than the " + std::to_string(room >> 20) + " MiB of " + what);
  used = aligned(first + bytes);
  return first;
}

}  // namespace

bool UserData::fits(const Arena& arena, const Setup& setup) try {
  Arena no_memory({.input_bytes = arena.input_bytes(), .output_bytes = arena.output_bytes()});
  UserData data(no_memory, "");
  setup(data);
  return true;
} catch (const DoesNotFit&) {
  return false;
} catch (const std::exception&) {  // reported when the case is launched
  return true;
}

Data::Place UserData::random_input(bool is_double, std::size_t count) {
  const std::size_t size = is_double ? sizeof(double) : sizeof(float);
  std::size_t& used = is_double ? random_doubles_ : random_floats_;
  const std::size_t first = take(used, count * size, arena_.input_bytes(), "random input") / size;
  if (is_double) return {arena_.input<double>() + first, first};
  return {arena_.input<float>() + first, first};
}

const void* UserData::table(std::size_t bytes, const Fill& fill) {
  const std::string name = owner_ + "/" + std::to_string(tables_++);
  return arena_.table<std::byte>(name, bytes, [&](std::byte* device, std::size_t count, cudaStream_t stream) {
    std::vector<std::byte> host(count);
    fill(host.data());
    occbench::check(cudaMemcpyAsync(device, host.data(), count, cudaMemcpyHostToDevice, stream),
                    "copying a kernel's input to the device");
    occbench::check(cudaStreamSynchronize(stream), "copying a kernel's input to the device");
  });
}

void* UserData::output(std::size_t bytes, const void* initial) {
  const std::size_t first = take(used_, bytes, arena_.output_bytes(), "output");
  buffers_.push_back({first, bytes, initial});
  return arena_.output<std::byte>() + first;
}

std::size_t UserData::index_of(const void* device, std::size_t bytes) {
  const auto place = reinterpret_cast<std::uintptr_t>(device);
  const auto begin = reinterpret_cast<std::uintptr_t>(arena_.output<std::byte>());
  for (const Buffer& b : buffers_)
    if (place >= begin + b.first && place + bytes <= begin + b.first + b.bytes) return place - begin;
  throw std::runtime_error("a check reads a buffer that is no output() or update() of this kernel");
}

void UserData::expect(detail::Scalar type, const void* device, std::size_t count, double tolerance,
                      std::function<double(std::size_t)> expected) {
  const auto compare = [&]<class T>(T) {
    const std::size_t first = index_of(device, count * sizeof(T));
    checks_.push_back([=, this, expected = std::move(expected)] {
      return arena_.first_mismatch<T>(count, tolerance, expected, first);
    });
  };
  switch (type) {
    case detail::Scalar::f32:
      return compare(float{});
    case detail::Scalar::f64:
      return compare(double{});
    case detail::Scalar::i32:
      return compare(std::int32_t{});
    case detail::Scalar::u32:
      return compare(std::uint32_t{});
    case detail::Scalar::i64:
      return compare(std::int64_t{});
    case detail::Scalar::u64:
      return compare(std::uint64_t{});
  }
}

void UserData::check(std::function<std::string(Results&)> wrong) {
  checks_.push_back([this, wrong = std::move(wrong)]() -> std::optional<std::string> {
    const std::string line = wrong(*this);
    return line.empty() ? std::nullopt : std::optional("wrong result: " + line);
  });
}

void UserData::require_results() const {
  if (buffers_.empty())
    throw std::runtime_error("nothing to verify: the kernel must write to data.output() or data.update()");
}

void UserData::reset() {
  // Each is NaN or far from any expected number.
  odd_ = !odd_;
  arena_.poison_output(used_, odd_ ? 0xFF : 0xFE);
  for (const Buffer& b : buffers_) {
    if (b.initial != nullptr) arena_.set_output(b.first, b.initial, b.bytes);
    const std::size_t end = b.first + b.bytes;
    const std::size_t next = std::min(aligned(end), arena_.output_bytes());
    if (next > end) arena_.set_output(end, nullptr, next - end);  // the gap to the next buffer
  }
}

std::optional<std::string> UserData::mismatch() {
  for (const Check& wrong : checks_)
    if (auto line = wrong()) return line;
  return std::nullopt;
}

void UserData::read(const void* device, void* host, std::size_t bytes) {
  const std::size_t first = index_of(device, bytes);
  for (std::size_t at = 0; at < bytes; at += Arena::staging_bytes) {
    const std::size_t n = std::min(Arena::staging_bytes, bytes - at);
    std::memcpy(static_cast<std::byte*>(host) + at, arena_.download(first + at, n), n);
  }
}

}  // namespace occbench
