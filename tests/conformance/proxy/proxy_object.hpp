// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "tenon/abi/plugin.h"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

inline constexpr std::size_t max_proxied_backends = 16;
inline constexpr std::size_t wrapped_path_size = 4096;

/// Marks a plugin's object as a proxy's.
inline constexpr char proxy_mark[16] = "tenon-proxy/1";

/// The object that a proxy exports. `tenon-conformance --make-proxy` fills in the head, the
/// records, the number in the body and the path, in a copy of the template's file.
struct ProxyObject {
  tenon_plugin_head head;
  tenon_backend_record records[max_proxied_backends];
  char mark[sizeof proxy_mark];
  char wrapped_path[wrapped_path_size];  ///< Absolute; empty in the template.
  tenon_plugin_body body;
  const tenon_backend_api* backends[max_proxied_backends];
};

}}}  // namespace tenon::TENON_RELEASE::conformance
