// SPDX-License-Identifier: Apache-2.0
// In a browser DecompressionStream unpacks before the readers see a file: none of zlib is needed.
#pragma once

struct z_stream {};
