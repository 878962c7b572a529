// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/abi/extensions/cancel.h"
#include "tenon/abi/extensions/prepare.h"
#include "tenon/abi/extensions/threads.h"
#include "tenon/abi/plugin.h"
#include "tenon/backend/context.hpp"
#include "tenon/backend/host_services.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/compile_specs.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE {

namespace detail {

template <class Derived>
struct Trampolines;

/// Extensions of the host that are asked for in calls of `init` and `execute`, looked up once; null
/// where the host has none.
struct HostTables {
  HostTables() noexcept = default;
  explicit HostTables(const HostServices& host) noexcept
      : cancel_flag(host.extension<tenon_cancel_flag_v1>(TENON_EXTENSION_CANCEL_FLAG)),
        prepare(host.extension<tenon_prepare_v1>(TENON_EXTENSION_PREPARE)),
        threads(host.extension<tenon_threads_v1>(TENON_EXTENSION_THREADS)) {}

  const tenon_cancel_flag_v1* cancel_flag = nullptr;
  const tenon_prepare_v1* prepare = nullptr;
  const tenon_threads_v1* threads = nullptr;
};

}  // namespace detail

/// Base of every backend. The author derives a final class directly from `Backend<itself>` and
/// gives it:
///
///     static constexpr std::string_view id = "AcmeNpu";     // the string that programs name
///                                                           // 1 to 63 of [A-Za-z0-9_.-]
///     struct Delegate { ... };                               // one loaded blob; its destructor
///                                                            // is `destroy`
///     Result<Delegate> init(InitContext&, Blob, CompileSpecs);
///     Status execute(ExecutionContext&, Delegate&, Args);
///
/// and may give it, detected by name:
///
///     static constexpr std::string_view tags = "experimental,cpu";
///     static constexpr std::string_view description = "one line";
///     static constexpr PayloadVersions payload_versions = {1, 3};
///     static constexpr std::string_view cpu_features = "avx2,fma";
///     static constexpr std::int32_t priority = 10;
///     static constexpr bool runs_embedded_code = true;  // see InitContext::permit_code
///     Status open();            // once, when a host takes the backend; must not touch a device
///     Status is_available();    // a failure says why not
///     static const void* find_extension(std::string_view id) noexcept;  // tables of its own, by
///                                                                       // id ("acme.tuning/1")
///
/// Work belongs ahead of time: `preprocess` runs once, on a machine with time and memory, `init` at
/// every load, on the user's. `init` does what depends on the device it runs on (a driver's
/// program, memory, options) and nothing that could have been in the blob. (The same advice is in
/// ExecuTorch's documentation of backends.)
///
/// Further abilities are mixins, bases in addition to this one (`WithOptions`, `WithCheckBlob`,
/// ...). With `WithKernels` the delegate and its functions may be left out. Each host that opens
/// the plugin has an object of its own, from `open` to `close`.
///
/// Threads: `init` may run at the same time as any other function of the same object; `execute`
/// runs once at a time on one delegate, but concurrently on different ones. Exceptions are caught
/// and become `Internal` (`MemoryAllocationFailed` for std::bad_alloc).
template <class Derived>
class Backend {
 public:
  /// The host that opened this backend. Must not be used in the constructor.
  [[nodiscard]] const HostServices& host() const noexcept { return host_; }

 protected:
  ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

 private:
  // Private: a class between this one and the backend cannot be constructed. Backends derive
  // directly; what several share is a class without this base.
  friend Derived;
  Backend() = default;

  friend struct detail::Trampolines<Derived>;
  // For headers of the SDK that need not include this one.
  friend const detail::HostTables& host_tables_of(const Backend& backend) noexcept {
    return backend.tables_;
  }
  HostServices host_;
  detail::HostTables tables_;
};

/// Payload versions that `init` accepts, both ends included.
struct PayloadVersions {
  std::uint32_t min = 0;
  std::uint32_t max = 0;
};

}}  // namespace tenon::TENON_RELEASE
