// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "fuzz/peers/bytes.hpp"
#include "fuzz/peers/choices.hpp"
#include "fuzz/peers/system.hpp"
#include "tenon/abi/tenon.h"

namespace tenon::fuzz {

/// A plugin for a worker that is tried: it has all extensions, uses each service of its host, keeps
/// what it may keep, and reads and writes all bytes of its arguments. A script says what it does.
[[nodiscard]] const tenon_backend_api& guest_api() noexcept;

/// While it is there the plugin makes its choices from `choices`, and holds what it was given.
class GuestRun {
 public:
  explicit GuestRun(Choices& choices);
  GuestRun(const GuestRun&) = delete;
  GuestRun& operator=(const GuestRun&) = delete;
  /// Gives back what the worker's application has left.
  ~GuestRun();
};

// What the functions of this plugin have in common.

/// One delegate of the plugin, which keeps what it may keep of its `init`.
struct Delegate {
  const tenon_named_data_map* data = nullptr;
  std::vector<tenon_buffer> buffers;
  std::vector<tenon_prepared*> prepared;
  const tenon_intermediate_sink* sink = nullptr;
  std::set<std::int64_t> handles;
  unsigned char state[16] = {};
};
struct Kernel {
  std::vector<tenon_value*> args;
};

struct Guest {
  Choices* choices = nullptr;
  const tenon_host* host = nullptr;
  std::map<Delegate*, std::unique_ptr<Delegate>> delegates;
  std::map<Kernel*, std::unique_ptr<Kernel>> kernels;
  std::map<void*, std::uint64_t> blocks;
  std::set<void*> imports;
  std::vector<unsigned char> backend = std::vector<unsigned char>(1);
};
inline Guest* guest = nullptr;

inline Choices& now() { return *guest->choices; }

inline Delegate& of(tenon_delegate* delegate) {
  auto* const out = reinterpret_cast<Delegate*>(delegate);
  if (!guest->delegates.contains(out)) broken("the plugin has no such delegate");
  return *out;
}
inline Kernel& of(tenon_kernel* kernel) {
  auto* const out = reinterpret_cast<Kernel*>(kernel);
  if (!guest->kernels.contains(out)) broken("the plugin has no such kernel");
  return *out;
}
inline void check(tenon_backend* backend) {
  if (!guest->host) broken("the plugin is called while it is not open");
  if (reinterpret_cast<unsigned char*>(backend) != guest->backend.data()) {
    broken("another backend");
  }
}

/// The state of a delegate that ends.
inline void give_back(Delegate& it) {
  for (tenon_buffer& each : it.buffers) each.release(&each);
  for (tenon_prepared* each : it.prepared) each->release(each);
}

/// What the plugin may answer.
inline tenon_status outcome() {
  if (!now().rarely()) return TENON_STATUS_OK;
  constexpr std::string_view text = "the script says so";
  guest->host->set_last_error(guest->host, TENON_STATUS_INTERNAL, text.data(), text.size());
  return TENON_STATUS_INTERNAL;
}

/// Uses each service that an `init` gives.
void read_context(const tenon_init_context& context, Delegate& it);
/// Uses what a call gives, and its arguments.
void use_context(const tenon_execution_context& context);
void use_value(tenon_value* value, bool is_kernel, std::vector<tenon_tensor*>& seen);

/// The table of an extension.
[[nodiscard]] const void* find_extension(tenon_backend* backend, const char* id);

/// The bytes of a tensor are all in memory that the application gave.
inline bool is_given(const void* data, std::uint64_t size) {
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  for (const auto& [block, room] : guest->blocks) {
    const auto begin = reinterpret_cast<std::uintptr_t>(block);
    if (at >= begin && at - begin <= room && size <= room - (at - begin)) return true;
  }
  return System::is_mapped(data, size);
}

}  // namespace tenon::fuzz
