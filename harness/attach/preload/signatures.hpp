// SPDX-License-Identifier: Apache-2.0
// Which kernels a process launches, and with what shape: what is told apart, what is never changed, and the
// levels that the rest may have. Its caller sees to it that one thread at a time is in it.
#pragma once

#include <regex.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "harness/attach/preload/driver.hpp"
#include "harness/attach/preload/flat_map.hpp"
#include "harness/attach/preload/journal.hpp"
#include "harness/attach/preload/options.hpp"
#include "harness/attach/preload/request.hpp"
#include "harness/attach/preload/schedule.hpp"
#include "harness/attach/preload/versions.hpp"
#include "harness/attach/protocol/advice.hpp"

namespace occbench::attach {

/// The last launch of a stream: of what function and signature.
struct Before {
  std::uint64_t hash = 0;  ///< 0: none
  int function = -1;
};

/// A CUDA context that launches came from.
struct Context {
  CUcontext handle = nullptr;
  int device = 0;
  int compute_capability = 0;  ///< 90
  int device_sms = 0;
  int own_sms = 0;  ///< of a green context fewer
  int sms = 0;      ///< of the launch that is looked at: its stream may be of a green context
  int smem_per_sm = 0, smem_reserved = 0, smem_optin = 0;
  std::vector<CUevent> free_events;
  std::unordered_map<CUstream, Before> last;
};

/// A function as the program names it in one context. What each launch reads comes first.
struct Handle {
  std::uint64_t content = 0;
  std::uint64_t graph_hash = 0;  ///< of a CUDA graph
  std::vector<Parameter> parameters;
  CUfunction function = nullptr;
  int number = -1;
  bool has_many_arguments = false;  ///< more than are told apart, of some shape
  std::uint64_t graph_kernels = 0;  ///< of a CUDA graph
  SkipReason graph_skip_reason = SkipReason::graph;
  std::string name;
  int registers = 0, static_smem = 0, largest_block = 0, max_dynamic_smem = 0;
  bool is_cluster = false, is_known = false;
  std::unordered_map<std::uint64_t, bool> verified;  ///< levels of signatures, with this handle
  std::unordered_map<std::uint64_t, std::vector<Version>> versions;  ///< of signatures, with this handle
};

struct Signature {
  std::string name;  ///< for the watchdog's sentence
  int blocks_per_sm = 0, block_size = 0;
  unsigned dynamic_smem = 0;
  std::uint64_t hash = 0;
  SkipReason skip_reason = SkipReason::no;
  std::optional<Schedule> schedule;  // its flag, and what follows, is what each launch reads
  std::uint64_t launches = 0;
  std::size_t number = 0;
  std::vector<int> blocks;        ///< of arms from first_level on
  std::vector<unsigned> added;    ///< the dynamic shared memory that makes them
  std::vector<Version> versions;  ///< in place of levels; their functions are the handles'
  bool is_applied = false;        ///< the first of them, in every launch
  bool is_in_graph = false;
  unsigned smem_padding = 0;  ///< dynamic shared memory that may be added at natural occupancy, in a graph
  /// Of a CUDA graph: itself and those of its kernels, with their numbers, that take turns; whose it is now,
  /// and for how many draws more.
  std::vector<std::pair<Signature*, std::size_t>> turns;
  std::size_t turn = 0;
  int draws_left = 0;
  bool is_part = false;            ///< of another's launches: those behind one other kernel
  int parts = 0;                   ///< that its own launches were told apart into
  std::uint64_t before_first = 0;  ///< hash of what ran before: one alone tells nothing apart
};

/// Resident blocks nearest to a share of the natural ones, and fewer than these.
[[nodiscard]] int blocks_at(double share, int natural);

class Signatures {
 public:
  Signatures(const Options& options, const Driver& driver, Journal& journal);
  ~Signatures();
  Signatures(const Signatures&) = delete;
  Signatures& operator=(const Signatures&) = delete;

  /// Of the current context's handle.
  Context& context_of(CUcontext handle);
  /// SMs that a kernel launched into this stream may run on.
  [[nodiscard]] int sms_of(const Context& context, CUstream stream);
  /// A green context ends, and another one may have its handle.
  void forget_green() { green_sms_.clear(); }
  Handle& handle_of(const Request& request, Context& context);
  /// Of all graphs of one hash; 0: nothing is known of it.
  Handle& graph_handle(std::uint64_t kernels, std::uint64_t hash, SkipReason reason, const Context& context);
  Signature& signature_of(const Request& request, Handle& handle, Context& context);
  /// Whether a level, counted from 0, has been held against the driver's count with this handle.
  [[nodiscard]] static bool is_verified(const Signature& signature, const Handle& handle, std::size_t level);
  /// Whether the driver counts the natural blocks with the filling.
  [[nodiscard]] static bool is_filled(const Signature& signature, const Handle& handle);

  /// The function of a version, counted from 0, for this handle; null where it has none.
  [[nodiscard]] CUfunction version_of(const Signature& signature, Handle& handle, const Context& context,
                                      std::size_t number);
  /// A module's text, where versions are asked for.
  void add_ptx(std::string ptx) { versions_.add(std::move(ptx)); }
  /// A kernel that would notice added shared memory, by its name.
  void leave_alone(const std::string& kernel) { smem_readers_.insert(kernel); }
  /// Handles of functions may mean others from here on.
  void forget_handles();
  /// The context ends, and its events with it.
  void forget_context(Context& context);
  /// All that were seen; those that ended have no handle.
  [[nodiscard]] std::deque<Context>& contexts() { return contexts_; }
  [[nodiscard]] std::deque<Signature>& all() { return signatures_; }

 private:
  SkipReason skipped(const Request& request, const Handle& handle, const Context& context, int blocks_per_sm);
  /// Blocks per SM of each level that is asked for, most first.
  [[nodiscard]] std::vector<int> targets(const Request& request, const Signature& signature,
                                         const Handle& handle, const Context& context,
                                         std::uint64_t arguments) const;
  [[nodiscard]] std::vector<Version> find_versions(const Signature& signature, const Handle& handle,
                                                   const Context& context);
  void find_levels(Signature& signature, Handle& handle, const Context& context,
                   const std::vector<int>& targets);
  void look_at(Handle& handle, CUfunction named, const Context& context);
  void number(Handle& handle, const Context& context, int local_bytes, int binary_version);
  Signature& make(const Request& request, std::uint64_t hash, std::uint64_t arguments, Handle& handle,
                  const Context& context, const Before& before = {});
  /// Launches of several kinds are told apart by what ran before on their stream: what finds its data in the
  /// L2, and what does not.
  Signature& part_of(Signature& whole, const Request& request, std::uint64_t arguments, Handle& handle,
                     const Context& context, const Before& before);
  Signature& rest();

  const Options& options_;
  const Driver& driver_;
  Journal& journal_;
  AdviceBook advice_;
  Versions versions_;
  regex_t kernel_{};
  bool has_kernel_ = false;
  std::deque<Context> contexts_;
  std::deque<Signature> signatures_;
  std::deque<Handle> handles_;
  Signature* rest_ = nullptr;
  std::unordered_set<std::string> smem_readers_;
  std::map<std::pair<std::uint64_t, int>, Handle> graphs_;  ///< by hash, 0 if not known, and device
  std::unordered_map<CUcontext, Context*> by_context_;
  std::unordered_map<CUgreenCtx, int> green_sms_;
  Context* last_context_ = nullptr;
  FlatMap<Handle> by_handle_;
  FlatMap<Signature> by_hash_;
  std::unordered_map<std::string, int> function_numbers_;
  std::unordered_map<std::uint64_t, int> argument_hashes_;  ///< so many of one function and shape
};

}  // namespace occbench::attach
