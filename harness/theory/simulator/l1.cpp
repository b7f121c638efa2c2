// SPDX-License-Identifier: Apache-2.0
#include "harness/theory/simulator/l1.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <vector>

namespace occbench::theory {

L1::L1(std::size_t lines, std::uint64_t hands) {
  for (std::size_t i = 0; Slice & slice : slices_) {
    slice.lines = std::max<std::size_t>(lines / slices + (i++ < lines % slices), 1);
    slice.hand = hands % sets;
    hands /= sets;
  }
}

std::size_t L1::place_of(std::size_t line) {
  auto place = static_cast<std::size_t>(fact("l1_line_0"));
  for (std::size_t i = 0; i < hardware::l1_parities.size(); ++i)
    place ^= static_cast<std::size_t>(std::popcount(line & hardware::l1_parities[i]) & 1) << i;
  return place;
}

L1::Set& L1::set_of(std::size_t line) {
  const std::size_t place = place_of(line);
  return slices_[place / sets].tags[place % sets];
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
  --slice.held;
}

void L1::make_room(Slice& slice) {
  constexpr auto times_lines = static_cast<std::size_t>(fact("l1_lines_in_flight"));
  const std::size_t taken = std::min({slice.asked, times_lines / slice.lines, slice.lines - 1});
  for (; slice.held + taken > slice.lines; slice.hand = (slice.hand + 1) % sets)
    if (Tag* const tag = victim(slice.tags[slice.hand], 0)) evict(slice, *tag);
}

bool L1::hits(std::size_t line) {
  for (Tag& tag : set_of(line))
    if (tag.line == line) {
      tag.hit = true;
      tag.used = ++uses_;
      return true;
    }
  return false;
}

void L1::ask(std::size_t line) {
  Slice& slice = slices_[place_of(line) / sets];
  ++slice.asked;
  make_room(slice);
}

void L1::fill(std::size_t line) {
  Slice& slice = slices_[place_of(line) / sets];
  --slice.asked;
  Set& set = set_of(line);
  Tag* place = nullptr;
  std::uint64_t last = 0;
  for (Tag& tag : set) {
    if (tag.line == line) return;  // two loads had asked for it
    if (tag.line == none)
      place = &tag;
    else
      last = std::max(last, tag.used);
  }
  if (place == nullptr) evict(slice, *(place = victim(set, last)));
  ++slice.held;
  make_room(slice);
  *place = {line, false, ++uses_};
}

namespace {

double chain_hits(std::size_t chain_lines, std::size_t lines) {
  constexpr int orders = 16, laps = 32, before = 8;
  std::mt19937_64 random;  // NOLINT(cert-msc51-cpp): the same answer every time
  std::vector<std::size_t> chain(chain_lines);
  std::iota(chain.begin(), chain.end(), std::size_t{0});
  std::size_t hits = 0;
  for (int order = 0; order < orders; ++order) {
    for (std::size_t i = chain_lines; i > 1; --i) std::swap(chain[i - 1], chain[random() % i]);
    L1 l1(lines, random());
    for (int lap = 0; lap < laps; ++lap)
      for (const std::size_t line : chain) {
        const bool hit = l1.hits(line);
        if (!hit) {
          l1.ask(line);
          l1.fill(line);
        }
        hits += hit && lap >= before;
      }
  }
  return static_cast<double>(hits) / static_cast<double>(chain_lines * orders * (laps - before));
}

}  // namespace

double chain_room(std::size_t chain_lines, double hits) {
  std::size_t too_few = 0, enough = chain_lines;
  double below = 0, above = 1;  // share of hits
  while (enough - too_few > 1) {
    const std::size_t lines = (too_few + enough) / 2;
    const double now = chain_hits(chain_lines, lines);
    (now < hits ? too_few : enough) = lines;
    (now < hits ? below : above) = now;
  }
  return static_cast<double>(too_few) + std::clamp((hits - below) / std::max(above - below, 1e-9), 0.0, 1.0);
}

}  // namespace occbench::theory
