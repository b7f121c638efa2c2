// SPDX-License-Identifier: Apache-2.0
// Cards that stand for the catalogue: of each compute capability those with the fewest and the most SMs.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/theory/occupancy/cards.hpp"

namespace occbench {

inline std::vector<std::string> sample_of_catalogue() {
  std::map<int, std::pair<const theory::Card*, const theory::Card*>> ends;  // by compute capability
  for (const theory::Card& card : theory::cards) {
    auto& [fewest, most] = ends.try_emplace(card.cc, &card, &card).first->second;
    if (card.sm_count < fewest->sm_count) fewest = &card;
    if (card.sm_count > most->sm_count) most = &card;
  }
  std::vector<std::string> names;
  for (const auto& [cc, cards] : ends)
    for (const theory::Card* card : {cards.first, cards.second})
      if (names.empty() || names.back() != card->name) names.emplace_back(card->name);
  return names;
}

}  // namespace occbench
