// SPDX-License-Identifier: Apache-2.0
// A map from hashes to pointers, read at each launch: one cache line, where a std::unordered_map reads three.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace occbench::attach {

/// Keys are already hashes. Single keys cannot be removed.
template <class Value>
class FlatMap {
 public:
  /// Null if the key is missing.
  [[nodiscard]] Value* find(std::uint64_t key) const {
    if (places_.empty()) return nullptr;
    return places_[index_of(key)].second;
  }
  /// The key must be missing.
  void add(std::uint64_t key, Value* value) {
    if (2 * (size_ + 1) > places_.size()) grow();
    places_[index_of(key)] = {key, value};
    ++size_;
  }
  void clear() {
    places_.clear();
    size_ = 0;
  }

 private:
  using Place = std::pair<std::uint64_t, Value*>;

  /// The place of the key, or the free place for it. Half of all places are free.
  [[nodiscard]] std::size_t index_of(std::uint64_t key) const {
    std::size_t at = key & (places_.size() - 1);
    while (places_[at].second != nullptr && places_[at].first != key) at = (at + 1) & (places_.size() - 1);
    return at;
  }
  void grow() {
    constexpr std::size_t first_size = 64;
    const std::vector<Place> before =
        std::exchange(places_, std::vector<Place>(places_.empty() ? first_size : 2 * places_.size()));
    for (const Place& place : before)
      if (place.second != nullptr) places_[index_of(place.first)] = place;
  }

  std::vector<Place> places_;  ///< size is a power of two; null: free
  std::size_t size_ = 0;
};

}  // namespace occbench::attach
