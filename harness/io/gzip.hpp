// SPDX-License-Identifier: Apache-2.0
// Files packed when nobody writes to them any more.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace occbench {

/// PATH becomes PATH.gz (RFC 1952): whole, by rename, and only then PATH goes. Throws UserError(Exit::file).
void pack_file(const std::filesystem::path& path);

/// The reverse of pack_file(): PATH.gz becomes PATH, of at most `limit` bytes. Throws UserError(Exit::file),
/// also where PATH.gz is cut off or no gzip file.
void unpack_file(const std::filesystem::path& path, std::size_t limit);

/// What a gzip file of one member holds, in memory. Throws std::invalid_argument where it is damaged or cut off.
std::string unpack(std::string_view packed);

}  // namespace occbench
