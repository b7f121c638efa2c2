// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/l1.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <vector>

namespace occbench::theory {

L1::L1(std::size_t lines, std::uint64_t seed) {
  for (std::size_t i = 0; Slice & slice : slices_) {
    slice.capacity = std::max<std::size_t>(lines / slices + (i++ < lines % slices), 1);
    slice.next_set = seed % sets;
    seed /= sets;
  }
}

std::size_t L1::tag_index(std::size_t line) {
  auto index = static_cast<std::size_t>(fact("l1_line_0"));
  for (std::size_t i = 0; i < hardware::l1_parities.size(); ++i)
    index ^= static_cast<std::size_t>(std::popcount(line & hardware::l1_parities[i]) & 1) << i;
  return index;
}

L1::Set& L1::set_of(std::size_t line) {
  const std::size_t index = tag_index(line);
  return slices_[index / sets].tags[index % sets];
}

L1::Tag* L1::victim(Set& set, std::uint64_t spared) {
  Tag* found = nullptr;
  for (Tag& tag : set)
    if (tag.line != none && tag.used != spared &&
        (found == nullptr || tag.hit < found->hit || (tag.hit == found->hit && tag.used < found->used)))
      found = &tag;
  return found;
}

void L1::evict(Slice& slice, Tag& tag) {
  tag.line = none;
  --slice.resident;
}

void L1::evict_excess(Slice& slice) {
  constexpr auto times_capacity = static_cast<std::size_t>(fact("l1_lines_in_flight"));
  const std::size_t in_flight =
      std::min({slice.in_flight, times_capacity / slice.capacity, slice.capacity - 1});
  for (; slice.resident + in_flight > slice.capacity; slice.next_set = (slice.next_set + 1) % sets)
    if (Tag* const tag = victim(slice.tags[slice.next_set], 0)) evict(slice, *tag);
}

bool L1::look_up(std::size_t line) {
  for (Tag& tag : set_of(line))
    if (tag.line == line) {
      tag.hit = true;
      tag.used = ++uses_;
      return true;
    }
  return false;
}

void L1::request(std::size_t line) {
  Slice& slice = slices_[tag_index(line) / sets];
  ++slice.in_flight;
  evict_excess(slice);
}

void L1::fill(std::size_t line) {
  Slice& slice = slices_[tag_index(line) / sets];
  --slice.in_flight;
  Set& set = set_of(line);
  Tag* free_tag = nullptr;
  std::uint64_t last_used = 0;
  for (Tag& tag : set) {
    if (tag.line == line) return;  // two loads requested it
    if (tag.line == none)
      free_tag = &tag;
    else
      last_used = std::max(last_used, tag.used);
  }
  if (free_tag == nullptr) evict(slice, *(free_tag = victim(set, last_used)));
  ++slice.resident;
  evict_excess(slice);
  *free_tag = {line, false, ++uses_};
}

namespace {

double chain_hit_rate(std::size_t chain_lines, std::size_t capacity) {
  constexpr int orders = 16, laps = 32, warm_up_laps = 8;
  std::mt19937_64 random;  // NOLINT(cert-msc51-cpp): the same answer every time
  std::vector<std::size_t> chain(chain_lines);
  std::iota(chain.begin(), chain.end(), std::size_t{0});
  std::size_t hits = 0;
  for (int order = 0; order < orders; ++order) {
    for (std::size_t i = chain_lines; i > 1; --i) std::swap(chain[i - 1], chain[random() % i]);
    L1 l1(capacity, random());
    for (int lap = 0; lap < laps; ++lap)
      for (const std::size_t line : chain) {
        const bool hit = l1.look_up(line);
        if (!hit) {
          l1.request(line);
          l1.fill(line);
        }
        hits += hit && lap >= warm_up_laps;
      }
  }
  return static_cast<double>(hits) / static_cast<double>(chain_lines * orders * (laps - warm_up_laps));
}

}  // namespace

double capacity_from_hit_rate(std::size_t chain_lines, double hit_rate) {
  std::size_t low = 0, high = chain_lines;
  double low_rate = 0, high_rate = 1;
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    const double rate = chain_hit_rate(chain_lines, middle);
    (rate < hit_rate ? low : high) = middle;
    (rate < hit_rate ? low_rate : high_rate) = rate;
  }
  return static_cast<double>(low) +
         std::clamp((hit_rate - low_rate) / std::max(high_rate - low_rate, 1e-9), 0.0, 1.0);
}

}  // namespace occbench::theory
