// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/plugin/backend_api.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

// Stubs for functions that a plugin lacks, so that nothing tests for NULL later.
inline tenon_status available_stub(tenon_backend*) { return TENON_STATUS_OK; }
inline const void* no_extension_stub(tenon_backend*, const char*) { return nullptr; }

}  // namespace detail

Result<tenon_backend_api> complete_api(const tenon_backend_api& theirs, std::string_view id) {
  tenon_backend_api full{};
  constexpr std::size_t least =
      offsetof(tenon_backend_api, destroy) + sizeof(tenon_backend_api::destroy);
  if (theirs.struct_size < sizeof theirs.struct_size) {
    return error(Error::InvalidArgument, "backend ", id, ": its function table says it has ",
                 theirs.struct_size, " bytes, expected at least ", least,
                 " for the functions that are required");
  }
  std::memcpy(&full, &theirs, detail::shared_size(theirs.struct_size, sizeof full));
  full.struct_size = sizeof full;
  const char* missing = !full.open      ? "open"
                        : !full.close   ? "close"
                        : !full.init    ? "init"
                        : !full.execute ? "execute"
                        : !full.destroy ? "destroy"
                                        : nullptr;
  if (missing) {
    return error(Error::InvalidArgument, "backend ", id, ": its function table has no `",
                 std::string_view(missing), "` (table of ", theirs.struct_size, " bytes)");
  }
  if (!full.is_available) full.is_available = &detail::available_stub;
  if (!full.get_extension) full.get_extension = &detail::no_extension_stub;
  return full;
}

}}}  // namespace tenon::TENON_RELEASE::host
