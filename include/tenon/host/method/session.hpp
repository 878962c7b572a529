// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/version.h"

namespace tenon::inline TENON_RELEASE::host {

namespace detail {
class LoadedSession;
}

/// A state of its own for each delegate of a method, over the weights that the method loaded
/// (extension "tenon.sessions/1"). `Method::create_session` makes one and `Method::use_session`
/// switches to it.
///
/// State that the program keeps in the method's own memory, outside of delegates, is not part of a
/// session. Must be destroyed before its method; a method that uses it then returns to its own
/// state.
class Session {
 public:
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

 private:
  friend class detail::LoadedSession;  // The only class that derives from this one.
  Session() noexcept = default;
};

}  // namespace tenon::inline TENON_RELEASE::host
