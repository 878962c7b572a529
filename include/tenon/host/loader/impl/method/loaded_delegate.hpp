// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/backend.h"
#include "tenon/abi/private/changes.h"
#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// A backend as one method uses it. Keeps the plugin loaded.
struct BackendUse {
  /// The program's: a backend may be registered under another name. In the method's arena.
  std::string_view id;
  BackendRef backend;
  CallContext context;
  std::vector<tenon_option> runtime_specs;
  BackendUse* next = nullptr;  ///< See BackendUses.
};

/// The backends that one method uses, in the order in which it first needed them. Their addresses
/// are fixed.
class BackendUses {
 public:
  /// `arena` must outlive this object.
  explicit BackendUses(Arena& arena) noexcept : arena_(arena) {}
  BackendUses(const BackendUses&) = delete;
  BackendUses& operator=(const BackendUses&) = delete;
  ~BackendUses() {
    while (BackendUse* const use = first_) {
      first_ = use->next;
      use->~BackendUse();
    }
  }

  template <class Each>
  void for_each(const Each& each) const {
    for (const BackendUse* use = first_; use; use = use->next) each(*use);
  }

  /// The one with `id`, or null.
  [[nodiscard]] const BackendUse* find(std::string_view id) noexcept {
    // Most programs name one backend in all their delegates.
    if (latest_ && latest_->id == id) return latest_;
    for (BackendUse* use = first_; use; use = use->next) {
      if (use->id == id) return latest_ = use;
    }
    return nullptr;
  }

  /// One more, with a copy of `id`; null when there is no memory.
  [[nodiscard]] BackendUse* add(std::string_view id) noexcept {
    auto* text = arena_.allocate_list<char>(id.size());
    void* const bytes = arena_.allocate(sizeof(BackendUse), alignof(BackendUse));
    if (!text || !bytes) return nullptr;
    std::copy(id.begin(), id.end(), text);
    auto* const use = new (bytes) BackendUse();
    use->id = {text, id.size()};
    *end_ = use;
    end_ = &use->next;
    return latest_ = use;
  }

 private:
  Arena& arena_;
  BackendUse* first_ = nullptr;
  BackendUse** end_ = &first_;  // Where the next one is linked.
  BackendUse* latest_ = nullptr;
};

/// One delegate of a method. Its address is fixed from `init` to `destroy`: the plugin may keep
/// `processed`. What a call reads is in the first members.
struct Delegate {
  decltype(tenon_backend_api::execute) execute_function = nullptr;
  tenon_backend* backend = nullptr;
  tenon_delegate* handle = nullptr;  ///< Runs execute it: a layer may replace it between them.
  const tenon_execution_context* context = nullptr;

  const BackendUse* use = nullptr;
  tenon_buffer processed{};
  std::uint64_t lent = 0;  ///< Bytes that `init` took from the runtime allocator.

  Delegate() noexcept = default;
  Delegate(const Delegate&) = delete;
  Delegate& operator=(const Delegate&) = delete;

  [[nodiscard]] tenon_status execute(tenon_value* const* args, std::uint32_t num_args) const {
    return execute_function(backend, handle, context, args, num_args);
  }

  void destroy() const { use->backend->api().destroy(backend, handle); }
};

/// Gives the pages of a blob back to the system. `owner` doubles as the mark that it was done.
inline void release_processed(tenon_buffer* buffer) {
  const void* owner = __atomic_exchange_n(&buffer->owner, nullptr, __ATOMIC_ACQ_REL);
  if (!owner) return;
  const auto size = static_cast<std::size_t>(buffer->nbytes);
  static_cast<const Program*>(owner)->drop({static_cast<const std::byte*>(buffer->data), size});
  buffer->data = nullptr;
  buffer->nbytes = 0;
}

/// The compile specs of a delegate, in memory of `arena`; keys and values point into the program.
inline Status fill_compile_specs(const schema::BackendDelegate& serialized, Arena& arena,
                                 tenon_init_context& context) {
  const auto* from = serialized.compile_specs();
  if (!from || from->size() == 0) return ok();
  auto* specs = arena.allocate_list<tenon_compile_spec>(from->size());
  if (!specs) return error(Error::MemoryAllocationFailed, "no memory for the compile specs");
  for (flatbuffers::uoffset_t i = 0; i < from->size(); ++i) {
    const auto& spec = *from->Get(i);
    specs[i] = {sizeof(tenon_compile_spec), 0, spec.key()->c_str(), spec.value()->data(),
                spec.value()->size()};
  }
  context.compile_specs = specs;
  context.num_compile_specs = from->size();
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
