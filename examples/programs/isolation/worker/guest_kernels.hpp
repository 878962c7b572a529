// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "boundary/messages.hpp"
#include "guest_backend.hpp"
#include "guest_delegate.hpp"
#include "tenon/abi/extensions/kernels.h"

namespace tenon::isolated {

/// Kernels of the plugin ("tenon.kernels/1"). Each has memory of its own for the tensors of its
/// calls, which any lane may carry.
class GuestKernels {
 public:
  explicit GuestKernels(GuestBackend& plugin) noexcept : plugin_(&plugin) {}

  /// The extension of the plugin, as a bit of the answer to `load`.
  [[nodiscard]] std::uint32_t find() { return plugin_->find(table_); }

  [[nodiscard]] tenon_status list(Reply& reply) {
    const auto sink = [](void* to, const char* op) {
      auto& out = *static_cast<Writer*>(to);
      out.put<std::uint8_t>(1);
      out.put_text(op);
    };
    const tenon_status status = table_.list_operators(plugin_->handle, sink, &reply.body);
    reply.body.put<std::uint8_t>(0);
    return status;
  }

  [[nodiscard]] tenon_status create(Reader& from, const WorkerLane::Message& message) {
    const auto kernel = std::make_shared<GuestKernel>();
    const auto number = from.get<std::uint64_t>();
    const std::string op(from.get_text());
    const Status read = kernel->read(from, message, plugin_->memory);
    if (!read.ok()) return plugin_->fail(read);
    const tenon_kernel_context context = {sizeof context, kernel->arguments.size(), op.c_str(),
                                          kernel->arguments.data()};
    const tenon_status status = table_.create_kernel(plugin_->handle, &context, &kernel->handle);
    if (status != TENON_STATUS_OK) return status;
    kernel->set_context(plugin_->host.get(), nullptr);
    kernel->arguments.keep();
    {
      const std::lock_guard lock(mutex_);
      if (kernels_.emplace(number, kernel).second) return status;
    }
    table_.destroy_kernel(plugin_->handle, kernel->handle);
    return plugin_->fail(Error::InvalidArgument, "the worker has another kernel of this number");
  }

  [[nodiscard]] tenon_status run(Reader& from, WorkerLane& lane, const WorkerLane::Message& message,
                                 Reply& reply) {
    const std::shared_ptr<GuestKernel> kernel = take(from, false);
    if (!kernel) return unknown();
    const Status begun = kernel->begin(from, lane, plugin_->pools, kernel, reply);
    if (!begun.ok()) return plugin_->fail(begun);
    const Status read = kernel->read(from, message, plugin_->memory);
    if (!read.ok()) return plugin_->fail(read);
    const tenon_status status = table_.run_kernel(kernel->handle, &kernel->context);
    const Status changes = kernel->end(status, reply.body);
    return changes.ok() ? status : plugin_->fail(changes);
  }

  [[nodiscard]] tenon_status destroy(Reader& from) {
    const std::shared_ptr<GuestKernel> kernel = take(from, true);
    if (!kernel) return unknown();
    table_.destroy_kernel(plugin_->handle, kernel->handle);
    return TENON_STATUS_OK;
  }

 private:
  struct GuestKernel : GuestCall {
    tenon_kernel* handle = nullptr;
    Mapping arena;

    [[nodiscard]] Status read(Reader& from, const WorkerLane::Message& message,
                              const MemoryOfTensors* memory) {
      TENON_RETURN_IF_ERROR(take_arena(from.get<std::uint64_t>(), message, arena));
      return read_arguments(from, arena, memory);
    }
  };

  [[nodiscard]] tenon_status unknown() const {
    return plugin_->fail(Error::InvalidArgument, "the worker does not have this kernel");
  }
  [[nodiscard]] std::shared_ptr<GuestKernel> take(Reader& from, bool removes) {
    const auto number = from.get<std::uint64_t>();
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find(number);
    if (found == kernels_.end()) return nullptr;
    std::shared_ptr<GuestKernel> out = found->second;
    if (removes) kernels_.erase(found);
    return out;
  }

  GuestBackend* plugin_;
  tenon_kernels_v1 table_{};
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<GuestKernel>> kernels_;
};

}  // namespace tenon::isolated
