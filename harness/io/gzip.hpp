// SPDX-License-Identifier: Apache-2.0
// Compresses and decompresses finished files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace occbench {

/// Replaces PATH by PATH.gz (RFC 1952), written under another name and renamed before PATH is removed. Throws
/// UserError(Exit::file).
void pack_file(const std::filesystem::path& path);

/// The reverse of pack_file(), for at most `limit` bytes. Throws UserError(Exit::file), also if PATH.gz is
/// truncated or not a gzip file.
void unpack_file(const std::filesystem::path& path, std::size_t limit);

/// What a gzip file of one member holds, in memory. Throws std::invalid_argument where it is damaged or cut
/// off.
std::string unpack(std::string_view packed);

}  // namespace occbench
