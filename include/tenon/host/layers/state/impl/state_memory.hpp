// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/draft/sequence.h"
#include "tenon/abi/extensions/sessions.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/sessions/impl/method_states.hpp"
#include "tenon/host/layers/state/impl/find_state.hpp"
#include "tenon/host/loader/impl/method/device_space.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The memory of a method and its delegates in which one run leaves what later ones read. An image
/// is all its bytes, one part after the other. In a program that computes several texts in a run,
/// each has a row of the memory, and an image is of one.
class StateMemory {
 public:
  struct Part {
    std::string name;
    std::size_t offset, nbytes;            ///< In an image.
    std::byte* live = nullptr;             ///< Of row 0. Null where this processor cannot reach it.
    const DeviceSpace* devices = nullptr;  ///< Have it then on `device` at `address`; or
    tenon_dl_device device = cpu_device;
    std::byte* address = nullptr;
    const Delegate* delegate = nullptr;  ///< gives it, as its part number `number`,
    tenon_delegate* handle = nullptr;    ///< as the method's own.
    tenon_sequence_v1 functions{};       ///< Of that delegate.
    std::uint64_t number = 0;

    /// Where row `row` is; `live` is not null.
    [[nodiscard]] std::byte* live_at(std::size_t row) const noexcept { return live + row * nbytes; }
  };

  /// errors: as `Sequence::create`.
  [[nodiscard]] static Result<StateMemory> of(MethodState& method, std::size_t rows) {
    StateMemory out;
    StateFinder finder(method.plan);
    std::vector<StateRange> ranges;
    if (rows == 1) {
      ranges = finder.find();
    } else {
      TENON_TRY(ranges, finder.find_rows(rows));
    }
    for (const StateRange& range : ranges) {
      Part part{concat("memory ", range.buffer, " from ", range.begin), 0,
                static_cast<std::size_t>(range.end - range.begin) / rows};
      std::byte* const at = method.planned.at(range.buffer, range.begin);
      part.device = method.planned.device(range.buffer);
      if (!is_cpu(part.device)) part.devices = method.devices;
      (part.devices ? part.address : part.live) = at;
      out.add(std::move(part));
    }
    const std::span<Delegate> delegates = method.delegates;
    const std::vector<tenon_delegate*> handles = own_handles(method);
    for (std::size_t i = 0; i < delegates.size(); ++i) {
      if (Status added = out.add_delegate(delegates[i], handles[i], i); !added.ok()) {
        return std::move(added).with_context(
            concat("delegate ", i, " (", delegates[i].use->id, ")"));
      }
      if (rows == 1 || out.parts_.empty() || !out.parts_.back().delegate) continue;
      return error(Error::NotSupported, "delegate ", i, " (", delegates[i].use->id,
                   ") has a state, which cannot be shared out to ", rows, " texts");
    }
    return out;
  }

  [[nodiscard]] const std::vector<Part>& parts() const noexcept { return parts_; }
  [[nodiscard]] std::size_t nbytes() const noexcept { return nbytes_; }

  /// Copies the bytes of `part`, which this processor cannot reach, to `to`.
  [[nodiscard]] static Status read_far(const Part& part, std::size_t row, std::byte* to) {
    if (part.devices) {
      return part.devices->copy(cpu_device, to, part.device, part.address + row * part.nbytes,
                                part.nbytes);
    }
    const Delegate& delegate = *part.delegate;
    return outcome_of(delegate, part.functions.read(delegate.use->backend->raw(), part.handle,
                                                    part.number, 0, part.nbytes, to));
  }

  [[nodiscard]] Status read(std::size_t row, std::span<std::byte> image) const {
    for (const Part& part : parts_) {
      std::byte* const to = image.data() + part.offset;
      if (part.live) {
        std::memcpy(to, part.live_at(row), part.nbytes);
      } else {
        TENON_RETURN_IF_ERROR(read_far(part, row, to).with_context(part.name));
      }
    }
    return ok();
  }

  /// Puts the bytes of all parts back. `written` follows.
  [[nodiscard]] Status write(std::size_t row, std::span<const std::byte> image) const {
    for (const Part& part : parts_) {
      TENON_RETURN_IF_ERROR(write(part, row, image.data() + part.offset).with_context(part.name));
    }
    return written();
  }

  /// Writes all bytes of one part, wherever it is.
  [[nodiscard]] static Status write(const Part& part, std::size_t row, const std::byte* from) {
    if (part.live) {
      std::memcpy(part.live_at(row), from, part.nbytes);
      return ok();
    }
    if (part.devices) {
      return part.devices->copy(part.device, part.address + row * part.nbytes, cpu_device, from,
                                part.nbytes);
    }
    const Delegate& delegate = *part.delegate;
    return outcome_of(delegate, part.functions.write(delegate.use->backend->raw(), part.handle,
                                                     part.number, 0, part.nbytes, from));
  }

  /// Says to the delegates that their parts were written.
  [[nodiscard]] Status written() const {
    for (const auto& [delegate, handle, call] : told_) {
      TENON_RETURN_IF_ERROR(outcome_of(*delegate, call(delegate->use->backend->raw(), handle)));
    }
    return ok();
  }

 private:
  static constexpr std::size_t alignment = 64;

  struct Listed : tenon_state_list {
    struct One {
      std::string name;
      std::byte* data;
      std::uint64_t nbytes;
    };
    std::vector<One> parts;
    bool has_memory = true;
  };

  struct WriteNotice {
    const Delegate* delegate;
    tenon_delegate* handle;
    decltype(tenon_sequence_v1::written) call;
  };

  static Status outcome_of(const Delegate& delegate, tenon_status status) {
    if (status == TENON_STATUS_OK) return ok();
    return take_last_error(delegate.use->backend->host(), status);
  }

  void add(Part part) {
    part.offset = (nbytes_ + alignment - 1) / alignment * alignment;
    nbytes_ = part.offset + part.nbytes;
    parts_.push_back(std::move(part));
  }

  Status add_delegate(const Delegate& delegate, tenon_delegate* handle, std::size_t index) {
    const LoadedBackend& backend = *delegate.use->backend;
    const auto table = backend.extension<tenon_sequence_v1>(TENON_EXTENSION_SEQUENCE);
    if (!table || !table->list) {
      if (!backend.extension<tenon_sessions_v1>(TENON_EXTENSION_SESSIONS)) return ok();
      return error(Error::NotSupported,
                   "the backend has sessions, each with a state of its own, and cannot give their "
                   "states (extension " TENON_EXTENSION_SEQUENCE ")");
    }
    Listed listed;
    listed.struct_size = sizeof(tenon_state_list);
    listed.reserved = 0;
    listed.add = &add_part;
    const tenon_status status = table->list(backend.raw(), handle, &listed);
    if (!listed.has_memory) return error(Error::MemoryAllocationFailed, "no memory for its parts");
    TENON_RETURN_IF_ERROR(outcome_of(delegate, status));
    for (std::size_t i = 0; i < listed.parts.size(); ++i) {
      auto& [name, data, nbytes] = listed.parts[i];
      if (!data && nbytes != 0 && (!table->read || !table->write)) {
        return error(Error::Internal, "part '", name,
                     "' of its state has neither an address nor "
                     "functions that read and write it");
      }
      Part part{concat("delegate ", index, ": ", name), 0, static_cast<std::size_t>(nbytes), data};
      part.delegate = &delegate;
      part.handle = handle;
      part.functions = *table;
      part.number = i;
      if (nbytes != 0) add(std::move(part));
    }
    if (!listed.parts.empty() && table->written)
      told_.push_back({&delegate, handle, table->written});
    return ok();
  }

  static tenon_status add_part(const tenon_state_list* to, const tenon_state_part* part) noexcept {
    auto& list = *const_cast<Listed*>(static_cast<const Listed*>(to));
    try {
      list.parts.push_back({std::string(part->name ? part->name : "",
                                        part->name ? static_cast<std::size_t>(part->name_size) : 0),
                            static_cast<std::byte*>(part->data), part->nbytes});
      return TENON_STATUS_OK;
    } catch (const std::bad_alloc&) {
      list.has_memory = false;
      return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    }
  }

  std::vector<Part> parts_;
  std::size_t nbytes_ = 0;
  /// Delegates that want to know of writes, and their function for it.
  std::vector<WriteNotice> told_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
