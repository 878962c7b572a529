// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "boundary/protocol.hpp"
#include "prepared_set.hpp"
#include "tenon/abi/backend.h"
#include "tenon/abi/draft/intermediates.h"
#include "tenon/core/sha256.hpp"

namespace tenon::isolated {

/// The intermediates that an application wants of a delegate.
struct Recording {
  std::set<std::int64_t> handles;
  const tenon_intermediate_sink* sink = nullptr;
};

/// Orders hashes.
struct Sha256Less {
  bool operator()(const Sha256& a, const Sha256& b) const noexcept { return a.bytes < b.bytes; }
};
using CodeHashes = std::set<Sha256, Sha256Less>;

/// The data and prepared bytes of one delegate, which its sessions share. The host keeps `data`
/// until it has destroyed the delegate.
struct Services {
  const tenon_named_data_map* data = nullptr;
  std::shared_ptr<PreparedSet> prepared{};
};

/// A call's needs, apart from its message: the answers to the worker's questions, the size and time
/// that the call may take, and the text of a failure when the worker dies in it.
///
/// A question has no number of a delegate. The application answers it from this struct, whose
/// pointers stay valid as long as the call: a host destroys no delegate that it is calling.
struct CallInfo {
  std::string_view function;      ///< "execute"
  std::uint64_t delegate = 0;     ///< 0 when the call has none.
  std::string_view method{};      ///< Of the delegate.
  std::string_view op{};          ///< Of the kernel.
  std::uint64_t number = 0;       ///< Number of the call among the delegate's calls, from 1.
  std::uint64_t deadline_ms = 0;  ///< 0: none.
  std::uint64_t max_message = max_message_size;  ///< Bytes of each message of the worker.
  const tenon_tracer* tracer = nullptr;
  const std::uint32_t* cancel_flag = nullptr;
  /// Of the delegate; null when the call has none.
  const Services* services = nullptr;
  /// Of an `init` that is going on; answers `permit_code`.
  const tenon_init_context* context = nullptr;
  /// Where code that was permitted is remembered; without a context it is what is permitted.
  CodeHashes* permitted = nullptr;
  /// Of an `init` that is going on; answers what it asks about prepared bytes.
  const tenon_init_context* init = nullptr;
  /// Of an `execute` that is going on; takes intermediates.
  const Recording* recording = nullptr;
  /// Of a call with arguments; looks ahead while the worker runs.
  class ArgumentsCopy* arguments = nullptr;
};

}  // namespace tenon::isolated
