// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/discovery/backend_info.hpp"

#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/core/visible.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

[[gnu::cold]] Status InvalidBackend::status() const {
  bool duplicate = false;
  std::string text;
  if (providers.empty()) {
    text = concat("backend ", quoted(id), " is not registered (InvalidBackend)");
    if (!near_ids.empty()) text += concat("; did you mean ", join(near_ids, ", "), "?");
  } else {
    text = concat("backend ", quoted(id), " is known but cannot be used (InvalidBackend)");
    for (const BackendInfo& provider : providers) {
      duplicate |= provider.state == BackendState::duplicate;
      text += concat("\n  ", state_name(provider.state), ": ", provider.reason);
    }
  }
  text += concat("\n  registered are: ", known.empty() ? "none" : join(known, ", "));
  for (const SearchPath& path : search_paths) {
    text += concat("\n  searched ", tenon::detail::visible(path.name()), ": ");
    if (path.error == Error::Ok) {
      text += concat(path.num_sources, path.num_sources == 1 ? " plugin" : " plugins");
    } else {
      text += path.reason;
    }
  }
  for (const BackendInfo& source : refused) text += concat("\n  refused ", source.reason);
  return Status(duplicate ? Error::RegistrationAlreadyRegistered : Error::NotFound,
                std::move(text));
}

}}}  // namespace tenon::TENON_RELEASE::host
