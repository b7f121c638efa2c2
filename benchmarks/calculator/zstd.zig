// SPDX-License-Identifier: Apache-2.0
// zstd's calls that the reader of fatbins makes, by the decoder of zig's own library. A frame that breaks
// the decoder's bounds stops the module, and the page starts a new one.
const std = @import("std");
const zstd = std.compress.zstd;
pub const panic = std.debug.no_panic;

const source_size_wrong = 72; // ZSTD_error_srcSize_wrong
const generic = 1; // ZSTD_error_GENERIC

export fn ZSTD_decompress(to: [*]u8, room: usize, from: [*]const u8, size: usize) usize {
    var in: std.Io.Reader = .fixed(from[0..size]);
    // The decoder asks for the room of a whole block, however short the last one is.
    const buffer = std.heap.c_allocator.alloc(u8, room + zstd.block_size_max) catch
        return 0 -% @as(usize, generic);
    defer std.heap.c_allocator.free(buffer);
    var out: std.Io.Writer = .fixed(buffer);
    var frames: zstd.Decompress = .init(&in, &.{}, .{ .window_len = 1 << 30 });
    const got = frames.reader.streamRemaining(&out) catch {
        const is_cut = if (frames.err) |why| why == error.EndOfStream else false;
        return 0 -% @as(usize, if (is_cut) source_size_wrong else generic);
    };
    if (got > room) return 0 -% @as(usize, generic);
    @memcpy(to[0..got], buffer[0..got]);
    return got;
}

export fn ZSTD_getFrameContentSize(from: [*]const u8, size: usize) u64 {
    const unknown = 0 -% @as(u64, 1);
    var in: std.Io.Reader = .fixed(from[0..size]);
    const magic = in.takeInt(u32, .little) catch return unknown;
    if (magic != @backingInt(zstd.Decompress.Frame.Magic.zstandard)) return unknown;
    const header = zstd.Decompress.Frame.Zstandard.Header.decode(&in) catch return unknown;
    return header.content_size orelse unknown;
}
