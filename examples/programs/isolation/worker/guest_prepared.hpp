// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "boundary/descriptors.hpp"
#include "boundary/protocol.hpp"
#include "guest_host.hpp"
#include "tenon/abi/extensions/prepare.h"

namespace tenon::isolated {

/// Prepared bytes of the application: a copy of what was found, and the way to what it keeps.
class GuestPrepared : public tenon_prepared {
 public:
  /// Asks in a call of `init` of delegate `number`.
  static tenon_status open(Lanes& lanes, std::uint64_t number, std::string_view identity,
                           tenon_prepared** out) {
    Writer what;
    what.put_text(identity);
    WorkerLane::Message answer;
    if (!lanes.ask(Answer::open_prepared, what, {}, answer, number)) {
      return TENON_STATUS_INVALID_STATE;
    }
    Reader reader = answer.reader();
    const auto status = reader.get<tenon_status>();
    if (status != TENON_STATUS_OK) return status;
    const auto entry = reader.get<std::uint64_t>();
    const auto nbytes = reader.get<std::uint64_t>();
    Mapping bytes;
    if (nbytes != 0 && !answer.descriptors.empty()) {
      auto mapping = Mapping::of_received(answer.descriptors.front().get(), nbytes, false);
      if (!mapping.ok()) return to_status(mapping.error());
      bytes = *std::move(mapping);
    }
    *out = new GuestPrepared(lanes, number, entry, std::move(bytes));
    return TENON_STATUS_OK;
  }

 private:
  GuestPrepared(Lanes& lanes, std::uint64_t delegate, std::uint64_t entry, Mapping found) noexcept
      : tenon_prepared{sizeof(tenon_prepared),
                       0,
                       found.size(),
                       found.data(),
                       &keep,
                       &give_back,
                       nullptr},
        lanes_(&lanes),
        delegate_(delegate),
        entry_(entry),
        found_(std::move(found)) {}

  [[nodiscard]] Writer question() const {
    Writer out;
    out.put(entry_);
    return out;
  }

  static tenon_status keep(tenon_prepared* prepared, const tenon_span* parts,
                           std::uint64_t num_parts) noexcept {
    try {
      const auto& self = *static_cast<const GuestPrepared*>(prepared);
      std::vector<std::span<const std::byte>> bytes;
      std::uint64_t size = 0;
      for (std::uint64_t i = 0; i < num_parts; ++i) {
        bytes.emplace_back(static_cast<const std::byte*>(parts[i].data),
                           static_cast<std::size_t>(parts[i].size));
        size += parts[i].size;
      }
      auto copy = sealed_copy("tenon-prepared", std::span<const std::span<const std::byte>>(bytes));
      if (!copy.ok()) return to_status(copy.error());
      Writer what = self.question();
      what.put(size);
      const int descriptor = copy->get();
      WorkerLane::Message answer;
      if (!self.lanes_->ask(Answer::store_prepared, what, {&descriptor, 1}, answer,
                            self.delegate_)) {
        return TENON_STATUS_INVALID_STATE;
      }
      return answer.reader().get<tenon_status>();
    } catch (const std::exception&) {
      return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    }
  }

  static void give_back(tenon_prepared* prepared) noexcept {
    const std::unique_ptr<GuestPrepared> self(static_cast<GuestPrepared*>(prepared));
    try {
      WorkerLane::Message ignored;
      // Outside of calls the application releases it with the delegate.
      static_cast<void>(self->lanes_->ask(Answer::release_prepared, self->question(), {}, ignored,
                                          self->delegate_));
    } catch (const std::exception&) {
      // Neither without memory: the application releases it with the delegate.
    }
  }

  Lanes* lanes_;
  std::uint64_t delegate_;
  std::uint64_t entry_;
  Mapping found_;
};

}  // namespace tenon::isolated
