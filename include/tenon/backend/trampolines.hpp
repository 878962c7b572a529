// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <new>
#include <string_view>
#include <utility>

#include "tenon/abi/backend.h"
#include "tenon/abi/version.h"
#include "tenon/backend/backend.hpp"
#include "tenon/backend/check_backend.hpp"
#include "tenon/backend/context.hpp"
#include "tenon/backend/guard.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/backend/mixins.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/compile_specs.hpp"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace detail {

/// The functions of the boundary for one backend class. They do what an author would otherwise
/// write by hand: check the host, catch exceptions, pass ownership, report errors.
template <class B>
struct Trampolines {
  static tenon_status open(const tenon_host* host, tenon_backend** out) noexcept {
    return guard(host, [&]() -> Status {
      if (host->abi_major != TENON_ABI_MAJOR) {
        return error(Error::NotSupported, "backend ", B::id, " speaks ABI ", TENON_ABI_MAJOR, ".",
                     TENON_ABI_MINOR, ", the host ", std::string_view(host->name), " speaks ",
                     host->abi_major, ".", host->abi_minor);
      }
      struct Owner {
        B* backend;
        ~Owner() { delete backend; }
      } owner{new B};
      Backend<B>& base = *owner.backend;
      base.host_ = HostServices(host);
      base.tables_ = HostTables(base.host_);
      if constexpr (HasOpen<B>) TENON_RETURN_IF_ERROR(owner.backend->open());
      *out = reinterpret_cast<tenon_backend*>(std::exchange(owner.backend, nullptr));
      return ok();
    });
  }

  static void close(tenon_backend* backend) noexcept { delete &self<B>(backend); }

  static tenon_status is_available(tenon_backend* backend) noexcept {
    if constexpr (HasIsAvailable<B>) {
      return guard(host_of<B>(backend), [&] { return self<B>(backend).is_available(); });
    } else {
      return TENON_STATUS_OK;
    }
  }

  static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                           tenon_delegate** out) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      if constexpr (HasKernelsAlone<B>) {
        return error(Error::NotSupported, "backend ", B::id, " has kernels alone, no delegates");
      } else {
        using Delegate = typename B::Delegate;
        InitContext init_context(*context);
        TENON_RETURN_IF_ERROR(check_runtime_specs<B>(init_context));
        TENON_TRY(Delegate delegate,
                  self<B>(backend).init(
                      init_context, Blob(context->processed),
                      CompileSpecs(context->compile_specs, context->num_compile_specs)));
        *out = reinterpret_cast<tenon_delegate*>(new Delegate(std::move(delegate)));
        return ok();
      }
    });
  }

  static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                              const tenon_execution_context* context, tenon_value* const* args,
                              std::uint32_t num_args) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      if constexpr (HasKernelsAlone<B>) {
        return error(Error::NotSupported, "backend ", B::id, " has kernels alone, no delegates");
      } else {
        ExecutionContext execution_context(*context);
        return self<B>(backend).execute(execution_context,
                                        *reinterpret_cast<typename B::Delegate*>(delegate),
                                        Args(context->host, args, num_args));
      }
    });
  }

  static void destroy(tenon_backend*, tenon_delegate* delegate) noexcept {
    if constexpr (!HasKernelsAlone<B>) {
      delete reinterpret_cast<typename B::Delegate*>(delegate);
    }
  }

  static const void* get_extension(tenon_backend*, const char* id) noexcept {
    if (const void* table = find_table<B>(BackendExtensions(), id)) return table;
    if constexpr (HasFindExtension<B>) return B::find_extension(id);
    return nullptr;
  }

  static constexpr tenon_backend_api api = {sizeof(tenon_backend_api),
                                            0,
                                            &open,
                                            &close,
                                            &is_available,
                                            &init,
                                            &execute,
                                            &destroy,
                                            &get_extension};
};

}}}  // namespace tenon::TENON_RELEASE::detail
