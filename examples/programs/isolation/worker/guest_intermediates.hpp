// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "boundary/messages.hpp"
#include "guest_backend.hpp"
#include "guest_delegate.hpp"
#include "tenon/abi/draft/intermediates.h"

namespace tenon::isolated {

/// Tensors that delegates compute on the way to their outputs ("tenon.intermediates/1"): each is a
/// question in the lane of `execute`, which the application answers when it has its copy.
class GuestIntermediates {
 public:
  explicit GuestIntermediates(GuestBackend& plugin) noexcept : plugin_(&plugin) {}

  /// The extension of the plugin, as a bit of the answer to `load`.
  [[nodiscard]] std::uint32_t find() { return plugin_->find(table_); }

  [[nodiscard]] tenon_status list(const GuestDelegate& delegate, Reply& reply) {
    List names(reply.body);
    const tenon_status status = table_.list(plugin_->handle, delegate.handle, &names);
    reply.body.put<std::uint8_t>(0);
    return status;
  }

  [[nodiscard]] tenon_status record(GuestDelegate& delegate, Reader& from) {
    std::vector<std::int64_t> handles(from.get_count(sizeof(std::int64_t)));
    from.get_array(handles.data(), handles.size());
    if (!from.is_at_end()) return plugin_->fail(Error::Internal, "the handles cannot be read");
    auto sink = std::make_unique<Sink>(delegate, *plugin_);
    const tenon_status status =
        table_.record(plugin_->handle, delegate.handle, handles.empty() ? nullptr : handles.data(),
                      handles.size(), handles.empty() ? nullptr : sink.get());
    // The one before is valid until then.
    if (status == TENON_STATUS_OK) delegate.sink = std::move(sink);
    return status;
  }

 private:
  struct List : tenon_intermediate_list {
    explicit List(Writer& to) noexcept
        : tenon_intermediate_list{sizeof(tenon_intermediate_list), 0, &add_one}, out(&to) {}
    Writer* out;

    static tenon_status add_one(const tenon_intermediate_list* to,
                                const tenon_intermediate* one) noexcept {
      try {
        Writer& out = *static_cast<const List*>(to)->out;
        out.put<std::uint8_t>(1);
        out.put(one->handle);
        out.put_bytes(one->name, one->name ? one->name_size : 0);
        return TENON_STATUS_OK;
      } catch (const std::exception&) {
        return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
      }
    }
  };

  struct Sink : tenon_intermediate_sink, GuestDelegate::Kept {
    Sink(const GuestDelegate& its_delegate, const GuestBackend& its_plugin) noexcept
        : tenon_intermediate_sink{sizeof(tenon_intermediate_sink), 0, &take_one},
          delegate(&its_delegate),
          plugin(&its_plugin) {}
    const GuestDelegate* delegate;
    const GuestBackend* plugin;

    static tenon_status take_one(const tenon_intermediate_sink* sink, std::int64_t handle,
                                 const tenon_tensor* tensor) noexcept {
      try {
        return static_cast<const Sink*>(sink)->give(handle, *tensor);
      } catch (const std::exception&) {
        return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
      }
    }
    tenon_status give(std::int64_t handle, const tenon_tensor& tensor) const {
      const tenon_dl_tensor& dl = tensor.dl;
      if (dl.device.device_type != TENON_DL_CPU) {
        return plugin->fail(error(Error::NotSupported, "intermediate ", handle,
                                  " is on DLPack device type ", dl.device.device_type,
                                  "; only memory of the CPU crosses from a worker"));
      }
      if (tensor.nbytes > max_intermediate_size) {
        return plugin->fail(error(Error::OutOfResources, "intermediate ", handle, " has ",
                                  tensor.nbytes, " bytes; at most ", max_intermediate_size,
                                  " cross from a worker"));
      }
      const auto rank = static_cast<std::size_t>(dl.ndim);
      Writer what;
      what.put(handle);
      what.put(tensor.scalar_type);
      what.put<std::uint64_t>(rank);
      what.put_array(dl.shape, rank);
      what.put_array(tensor.dim_order, rank);
      what.put_bytes(static_cast<const std::byte*>(dl.data) + dl.byte_offset, tensor.nbytes);
      WorkerLane::Message answer;
      if (!delegate->lane || !delegate->lane->ask(Answer::take_intermediate, what, {}, answer)) {
        return TENON_STATUS_INVALID_STATE;
      }
      return answer.reader().get<tenon_status>();
    }
  };

  GuestBackend* plugin_;
  tenon_intermediates_v1 table_{};
};

}  // namespace tenon::isolated
