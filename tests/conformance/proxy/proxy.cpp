// SPDX-License-Identifier: MIT
//
// A plugin that wraps another one, in any host, and checks every call. This file is the template;
// `tenon-conformance --make-proxy OUT PLUGIN` makes a proxy of it. docs/tools/tenon-proxy.md
// describes it.
#include "proxied_backend.hpp"
#include "proxy_object.hpp"
#include "tenon/abi/plugin.h"
#include "tenon/backend/wrapping_plugin.hpp"

extern "C" {
TENON_EXPORT extern const tenon::conformance::ProxyObject tenon_plugin_v1;
}

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

template <std::size_t Index>
tenon_status ProxiedBackend::open(const tenon_host* host, tenon_backend** out) {
  return open(tenon::detail::filled_in(tenon_plugin_v1), Index, host, out);
}

}}}  // namespace tenon::TENON_RELEASE::conformance

extern "C" {
constinit const tenon::conformance::ProxyObject tenon_plugin_v1 =
    tenon::detail::make_template<tenon::conformance::ProxiedBackend>(
        tenon_plugin_v1, "tenon-proxy", "TenonProxyTemplate",
        "Wraps nothing: tenon-conformance makes proxies of it", tenon::conformance::proxy_mark);
}
