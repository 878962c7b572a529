// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "tenon/abi/extensions/threads.h"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/scheduling/thread_pool.hpp"
#include "tenon/host/layers/scheduling/threads_table.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The application's threads in one method: each `init`, each delegate and each kernel has them.
class ThreadsPart final : public PartOf<ThreadsPart> {
 public:
  /// `pool` must outlive this.
  explicit ThreadsPart(const tenon_thread_pool* pool) noexcept : pool_(pool) {}

  [[nodiscard]] Status before_load(Loading& loading) override {
    for_init_ = threads_service(pool_, loading.init_services);
    for_calls_ = threads_service(pool_, loading.call_services);
    loading.init_services = &for_init_;
    loading.call_services = &for_calls_;
    return ok();
  }

  [[nodiscard]] const void* find_table(std::string_view id) const noexcept override {
    return id == TENON_EXTENSION_THREADS ? &threads_table() : nullptr;
  }

 private:
  const tenon_thread_pool* pool_;
  Service for_init_;
  Service for_calls_;
};

}  // namespace detail

Result<std::unique_ptr<detail::MethodPart>> ThreadPool::attach(detail::LoadRequest&) const {
  return std::make_unique<detail::ThreadsPart>(table());
}

}}}  // namespace tenon::TENON_RELEASE::host
