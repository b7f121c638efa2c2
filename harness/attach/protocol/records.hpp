// SPDX-License-Identifier: Apache-2.0
// The lines of NAME.txt and of the advice file: a kind, then tab-separated fields. Each record is declared
// once as a list of (type, name), from which both writer and reader are generated.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "harness/attach/protocol/protocol.hpp"

namespace occbench::attach {

using Fields = std::vector<std::string>;

/// The tab-separated fields of a line without its line end.
[[nodiscard]] Fields fields_of(std::string_view line);

/// Appends a tab and the text, cut to `max_bytes`, with tabs and line feeds replaced by blanks.
void append_field(std::string& line, std::string_view text, std::size_t max_bytes);

/// An integer of at least -1. Throws std::invalid_argument.
[[nodiscard]] std::int64_t integer_of(const std::string& text);
/// Throws std::invalid_argument.
[[nodiscard]] double real_of(const std::string& text);

inline std::string text_of(const std::string& value) { return value; }
inline std::string text_of(SkipReason value) { return std::to_string(static_cast<int>(value)); }
template <class Number>
requires std::integral<Number> || std::floating_point<Number> std::string text_of(Number value) {
  return std::to_string(value);
}

template <class Value>
Value value_of(const std::string& text) {
  if constexpr (std::same_as<Value, std::string>)
    return text;
  else if constexpr (std::floating_point<Value>)
    return real_of(text);
  else
    return static_cast<Value>(integer_of(text));
}

#define OCCBENCH_MEMBER(type, name) type name{};
#define OCCBENCH_VISIT(type, name) visit(self.name);
#define OCCBENCH_RECORD(Name, KIND, LIST)       \
  struct Name {                                 \
    static constexpr const char* kind = KIND;   \
    LIST(OCCBENCH_MEMBER)                       \
    template <class Self, class Visit>          \
    static void each(Self& self, Visit visit) { \
      LIST(OCCBENCH_VISIT)                      \
    }                                           \
  };

/// The line of a record, with its line end.
template <class Record>
std::string line_of(const Record& record, std::size_t max_field_bytes = std::string::npos) {
  std::string line = Record::kind;
  Record::each(record, [&](const auto& value) { append_field(line, text_of(value), max_field_bytes); });
  return line + '\n';
}

/// Parses a line of the record's kind. Throws std::invalid_argument. Ignores additional fields.
template <class Record>
Record record_of(const Fields& fields) {
  Record record;
  std::size_t at = 0;
  Record::each(record, [&](auto& value) {
    if (++at >= fields.size()) throw std::invalid_argument("a line is too short");
    value = value_of<std::remove_reference_t<decltype(value)>>(fields[at]);
  });
  return record;
}

// The first line. In another version, all other lines may differ.
#define OCCBENCH_PROCESS(field)                                                       \
  field(int, version) field(int, id) field(int, parent_id) field(int, driver_version) \
      field(std::string, command)
OCCBENCH_RECORD(ProcessRecord, "process", OCCBENCH_PROCESS)

#define OCCBENCH_NOTE(field) field(std::string, text)
OCCBENCH_RECORD(NoteRecord, "note", OCCBENCH_NOTE)

// What times launches from now on ("events" or "activity"), and why not the requested source.
#define OCCBENCH_TIMING(field) field(std::string, source) field(std::string, why_events)
OCCBENCH_RECORD(TimingRecord, "timing", OCCBENCH_TIMING)

#define OCCBENCH_DEVICE(field)                                                                          \
  field(int, number) field(std::string, name) field(std::string, uuid) field(int, cc_major)             \
      field(int, cc_minor) field(int, sm_count) field(int, warp_size) field(int, max_threads_per_block) \
          field(int, max_threads_per_sm) field(int, max_blocks_per_sm) field(int, registers_per_block)  \
              field(int, registers_per_sm) field(unsigned, smem_per_block_bytes)                        \
                  field(unsigned, smem_per_block_optin_bytes) field(unsigned, smem_per_sm_bytes)        \
                      field(unsigned, smem_reserved_per_block_bytes)
OCCBENCH_RECORD(DeviceRecord, "device", OCCBENCH_DEVICE)

#define OCCBENCH_FUNCTION(field)                                                            \
  field(int, number) field(int, device) field(int, registers) field(int, static_smem_bytes) \
      field(int, local_bytes) field(int, max_block_size) field(int, binary_version) field(std::string, name)
OCCBENCH_RECORD(FunctionRecord, "function", OCCBENCH_FUNCTION)

// Hashes are 16 hex digits or empty. `graph`: the CUDA graph that it is or belongs to; `before`: the previous
// signature on the stream. Functions are numbers of FunctionRecords; -1: none.
#define OCCBENCH_SIGNATURE(field)                                                                         \
  field(int, number) field(int, function) field(unsigned, grid_x) field(unsigned, grid_y)                 \
      field(unsigned, grid_z) field(unsigned, block_x) field(unsigned, block_y) field(unsigned, block_z)  \
          field(unsigned, dynamic_smem_bytes) field(int, blocks_per_sm) field(std::string, arguments)     \
              field(SkipReason, skip_reason) field(std::string, range) field(std::int64_t, graph_kernels) \
                  field(std::string, graph) field(std::string, before) field(int, before_function)        \
                      field(int, sm_count)
OCCBENCH_RECORD(SignatureRecord, "signature", OCCBENCH_SIGNATURE)

#define OCCBENCH_LEVEL(field) \
  field(int, signature) field(int, arm) field(unsigned, added_smem_bytes) field(int, blocks_per_sm)
OCCBENCH_RECORD(LevelRecord, "level", OCCBENCH_LEVEL)

// An arm whose launches ran on this many SMs.
#define OCCBENCH_SHARE(field) field(int, signature) field(int, arm) field(int, sm_count)
OCCBENCH_RECORD(ShareRecord, "share", OCCBENCH_SHARE)

#define OCCBENCH_VERSION(field)                                                        \
  field(int, signature) field(int, arm) field(int, register_cap) field(int, registers) \
      field(int, local_bytes) field(int, blocks_per_sm)
OCCBENCH_RECORD(VersionRecord, "version", OCCBENCH_VERSION)

// For --counters: samples of one window within the signature's runs. Comma-separated per quantity
// (quantities.hpp): the sampled time, and the same weighted by the share of the peak.
#define OCCBENCH_COUNTERS(field) \
  field(int, signature) field(std::int64_t, samples) field(std::string, us) field(std::string, share_us)
OCCBENCH_RECORD(CountersRecord, "counters", OCCBENCH_COUNTERS)
// The same, but only from samples that cover the runs evenly, from start to end.
OCCBENCH_RECORD(WholeCountersRecord, "whole_counters", OCCBENCH_COUNTERS)

// For --apply: a step of the program. It begins with a push of `range` or, without a name, lies between the
// profiler's calls and has this duration.
#define OCCBENCH_STEP(field) \
  field(std::int64_t, begin_ns) field(std::int64_t, duration_ns) field(std::string, range)
OCCBENCH_RECORD(StepRecord, "step", OCCBENCH_STEP)

// A line of the advice file (advice.hpp).
#define OCCBENCH_KERNEL_ADVICE(field)                                                                 \
  field(std::string, symbol) field(unsigned, grid_x) field(unsigned, grid_y) field(unsigned, grid_z)  \
      field(unsigned, block_x) field(unsigned, block_y) field(unsigned, block_z)                      \
          field(unsigned, dynamic_smem_bytes) field(std::string, arguments) field(int, blocks_per_sm) \
              field(int, sm_count)
OCCBENCH_RECORD(KernelAdvice, "kernel", OCCBENCH_KERNEL_ADVICE)

#define OCCBENCH_PATTERN_ADVICE(field) field(std::string, pattern) field(double, share)
OCCBENCH_RECORD(PatternAdvice, "pattern", OCCBENCH_PATTERN_ADVICE)

#undef OCCBENCH_RECORD
#undef OCCBENCH_VISIT
#undef OCCBENCH_MEMBER

}  // namespace occbench::attach
