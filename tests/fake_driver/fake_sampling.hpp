// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// A kernel ran: samples within it, while sampling is on.
void fake_sample(std::uint64_t start_ns, std::uint64_t end_ns);
