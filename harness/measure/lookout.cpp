// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/lookout.hpp"

#include <algorithm>

#include "harness/device/instruments.hpp"

namespace occbench {

Lookout::Lookout(Arena& arena, const Stream& stream, int sm_count)
    : arena_(arena),
      stream_(stream),
      blocks_(2 * sm_count),
      cycles_(static_cast<std::size_t>(blocks_)),
      cycles_host_(static_cast<std::size_t>(blocks_)) {
  take();  // brings in code and addresses
  usual_ = take();
  for (int i = 0; i < 8; ++i) {
    const Taken again = take();
    usual_ = {std::min(usual_.copy_s, again.copy_s), std::min(usual_.cycles, again.cycles)};
  }
}

Lookout::Taken Lookout::take() {
  constexpr int copies = 4;
  const std::size_t bytes = std::min({std::size_t{256} << 20, arena_.input_bytes(), arena_.output_bytes()});
  begin_.record(stream_);
  for (int i = 0; i < copies; ++i)
    check(cudaMemcpyAsync(arena_.output<float>(), arena_.input<float>(), bytes, cudaMemcpyDeviceToDevice,
                          stream_.get()),
          "copying on the device");
  end_.record(stream_);
  instruments::exercise(cycles_.data(), blocks_, stream_.get());
  check(cudaMemcpyAsync(cycles_host_.data(), cycles_.data(), cycles_.size() * sizeof(unsigned long long),
                        cudaMemcpyDeviceToHost, stream_.get()),
        "reading cycles");
  stream_.synchronize();
  const auto* const first = cycles_host_.data();
  return {end_.seconds_since(begin_), static_cast<double>(*std::max_element(first, first + blocks_))};
}

bool Lookout::is_quiet(int times) {
  int slow = 0;
  for (int i = 0; i < times + slow && slow < 2; ++i) {
    const Taken now = take();
    slow += now.copy_s > (1 + tolerance) * usual_.copy_s || now.cycles > (1 + tolerance) * usual_.cycles;
  }
  const bool quiet = slow < 2;  // one alone may be the board's own doing
  ++looks_;
  disturbed_ += quiet ? 0 : 1;
  return quiet;
}

}  // namespace occbench
