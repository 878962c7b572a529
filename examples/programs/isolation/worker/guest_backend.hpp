// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "arguments.hpp"
#include "boundary/extension_bits.hpp"
#include "boundary/messages.hpp"
#include "guest_host.hpp"
#include "guest_pool.hpp"
#include "guest_tracer.hpp"
#include "tenon/abi/tenon.h"
#include "tenon/core/extensions.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/backend_api.hpp"

namespace tenon::isolated {

/// The answer of a call: a status with a text, events, and what follows.
struct Reply {
  /// `to` keeps its memory from call to call.
  explicit Reply(Writer& to) noexcept : body(to) { body.clear(); }

  Writer& body;
  GuestTracer* tracer = nullptr;  ///< Of the call, when events are recorded.
  std::shared_ptr<void> kept;     ///< Which has it.
};

/// The backend that the worker opened, and what its calls have in common.
struct GuestBackend {
  explicit GuestBackend(Lanes& its_lanes) noexcept : lanes(&its_lanes) {}

  Lanes* lanes;
  GuestPools pools;
  std::unique_ptr<GuestHost> host;
  tenon_backend_api api{};
  tenon_backend* handle = nullptr;
  const MemoryOfTensors* memory = nullptr;

  [[nodiscard]] tenon_status fail(Error failure, std::string_view text) const {
    if (host) host->set_last_error(host.get(), to_status(failure), text.data(), text.size());
    return to_status(failure);
  }
  [[nodiscard]] tenon_status fail(const Status& status) const {
    return fail(status.error(), status.text());
  }
  [[nodiscard]] tenon_status unknown_delegate() const {
    return fail(Error::DelegateInvalidHandle, "the worker does not have this delegate");
  }

  /// Reads the table of an extension. Returns its bits of the answer to `load`; 0, and no functions
  /// in `out`, when the plugin lacks the extension or a function that it must have.
  template <class Table>
  [[nodiscard]] std::uint32_t find(Table& out) const {
    out = {};
    const void* theirs = api.get_extension(handle, BackendExtension<Table>::id);
    if (!theirs) return 0;
    out = host::complete_table<Table>(theirs);
    const std::uint32_t bits = bits_of_table(out);
    if (bits == 0) out = {};
    return bits;
  }
};

}  // namespace tenon::isolated
