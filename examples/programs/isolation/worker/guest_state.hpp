// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "boundary/messages.hpp"
#include "guest_backend.hpp"
#include "guest_delegate.hpp"
#include "tenon/abi/draft/sequence.h"

namespace tenon::isolated {

/// Calls about the state of delegates ("tenon.sequence/1"), whose parts cross without addresses.
class GuestState {
 public:
  explicit GuestState(GuestBackend& plugin) noexcept : plugin_(&plugin) {}

  /// The extensions of the plugin, as bits of the answer to `load`.
  [[nodiscard]] std::uint32_t find() { return plugin_->find(table_); }

  [[nodiscard]] tenon_status list(const GuestDelegate& delegate, Reply& reply) {
    Parts parts;
    const tenon_status status = table_.list(plugin_->handle, delegate.handle, &parts);
    reply.body.put<std::uint64_t>(parts.parts.size());
    for (const Parts::Part& part : parts.parts) {
      reply.body.put_text(part.name);
      reply.body.put(part.size);
    }
    return status;
  }

  [[nodiscard]] tenon_status read(const GuestDelegate& delegate, Reader& from, Reply& reply) {
    const auto index = from.get<std::uint64_t>();
    const auto offset = from.get<std::uint64_t>();
    const auto nbytes = from.get<std::uint64_t>();
    Parts::Part part;
    tenon_status status = find_part(delegate, index, offset, nbytes, part);
    if (status != TENON_STATUS_OK) return status;
    std::vector<std::byte> bytes;
    const std::byte* data = part.data ? part.data + offset : nullptr;
    if (!data) {
      bytes.resize(static_cast<std::size_t>(nbytes));
      if (!bytes.empty()) {
        status = table_.read(plugin_->handle, delegate.handle, index, offset, nbytes, bytes.data());
      }
      data = bytes.data();
    }
    reply.body.put_bytes(data, nbytes);
    return status;
  }
  [[nodiscard]] tenon_status write(const GuestDelegate& delegate, Reader& from) {
    const auto index = from.get<std::uint64_t>();
    const auto offset = from.get<std::uint64_t>();
    const auto bytes = from.get_bytes();
    Parts::Part part;
    const tenon_status status = find_part(delegate, index, offset, bytes.size(), part);
    if (status != TENON_STATUS_OK || bytes.empty()) return status;
    if (!part.data) {
      return table_.write(plugin_->handle, delegate.handle, index, offset, bytes.size(),
                          bytes.data());
    }
    std::copy(bytes.begin(), bytes.end(), part.data + offset);
    return TENON_STATUS_OK;
  }
  [[nodiscard]] tenon_status written(const GuestDelegate& delegate) {
    if (!table_.written) return TENON_STATUS_OK;
    return table_.written(plugin_->handle, delegate.handle);
  }

 private:
  /// The parts of a state as the plugin lists them.
  struct Parts : tenon_state_list {
    struct Part {
      std::string name;
      std::byte* data = nullptr;
      std::uint64_t size = 0;
    };
    std::vector<Part> parts;

    Parts() : tenon_state_list{sizeof(tenon_state_list), 0, &add_one} {}
    static tenon_status add_one(const tenon_state_list* to, const tenon_state_part* part) noexcept {
      try {
        auto& self = *const_cast<Parts*>(static_cast<const Parts*>(to));
        self.parts.push_back({{part->name, static_cast<std::size_t>(part->name_size)},
                              static_cast<std::byte*>(part->data),
                              part->nbytes});
        return TENON_STATUS_OK;
      } catch (const std::exception&) {
        return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
      }
    }
  };

  /// The part number `index`, and whether it exists and has this range.
  [[nodiscard]] tenon_status find_part(const GuestDelegate& delegate, std::uint64_t index,
                                       std::uint64_t offset, std::uint64_t nbytes,
                                       Parts::Part& out) {
    Parts parts;
    const tenon_status status = table_.list(plugin_->handle, delegate.handle, &parts);
    if (status != TENON_STATUS_OK) return status;
    if (index >= parts.parts.size())
      return plugin_->fail(error(Error::InvalidArgument, "the state has ", parts.parts.size(),
                                 " parts and no part ", index));
    out = std::move(parts.parts[static_cast<std::size_t>(index)]);
    if (offset > out.size || nbytes > out.size - offset)
      return plugin_->fail(error(Error::InvalidArgument, "part ", index, " of the state has ",
                                 out.size, " bytes, expected ", nbytes, " from byte ", offset,
                                 " on"));
    if (out.data || out.size == 0 || (table_.read && table_.write)) return TENON_STATUS_OK;
    return plugin_->fail(
        error(Error::NotSupported, "part ", index,
              " of the state has no address, and the plugin no `read` and `write`"));
  }

  GuestBackend* plugin_;
  tenon_sequence_v1 table_{};
};

}  // namespace tenon::isolated
