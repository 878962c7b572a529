// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "tenon/core/application/scheduling.hpp"
#include "tenon/host/loader/method/options.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

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

/// Options of `Method::create_session`. Nothing here is used after the call.
struct SessionOptions {
  /// Options that `Method::load` would take. All others keep the values of the load, also where the
  /// state is copied from a session with other values.
  std::vector<BackendOption> backend_options{};
  std::optional<Scheduling> scheduling{};  ///< Hints; nothing: as for the method itself.
  /// The new session begins with a copy of the state of this one, which the same method made. Null:
  /// with the state after the load.
  const Session* state = nullptr;
  /// The new session begins with a copy of the method's own state. Not together with `state`.
  bool copies_own_state = false;
};

}}}  // namespace tenon::TENON_RELEASE::host
