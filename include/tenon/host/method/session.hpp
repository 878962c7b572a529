// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>

#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"

namespace tenon::host {

namespace detail {

struct DelegateState;
class LoadedMethod;
struct LoadedDelegate;

}  // namespace detail

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
  ~Session();

 private:
  friend class detail::LoadedMethod;

  Session(detail::LoadedDelegate* delegates, std::size_t num_delegates);

  /// One state for each delegate, or the first failure.
  static Result<std::unique_ptr<Session>> create(detail::LoadedDelegate* delegates,
                                                 std::size_t num_delegates);
  void use() const noexcept;

  detail::LoadedDelegate* delegates_;
  std::unique_ptr<detail::DelegateState[]> states_;  // Delegates point to them.
  std::size_t num_states_ = 0;
};

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include <utility>

#include "tenon/host/method/loaded_delegate.hpp"

namespace tenon::host {

TENON_API Session::~Session() {
  for (std::size_t i = num_states_; i-- > 0;) {
    if (delegates_[i].active == &states_[i]) delegates_[i].active = &delegates_[i].own;
    delegates_[i].destroy(states_[i].handle);
  }
}

TENON_API Session::Session(detail::LoadedDelegate* delegates, std::size_t num_delegates)
    : delegates_(delegates), states_(new detail::DelegateState[num_delegates]) {}

TENON_API Result<std::unique_ptr<Session>> Session::create(detail::LoadedDelegate* delegates,
                                                           std::size_t num_delegates) {
  std::unique_ptr<Session> out(new Session(delegates, num_delegates));
  for (std::size_t i = 0; i < num_delegates; ++i) {
    auto handle = delegates[i].create_session();
    if (!handle.ok()) {
      return std::move(handle).status().with_context(concat("delegate ", i));
    }
    out->states_[out->num_states_++].handle = *handle;
  }
  return out;
}

TENON_API void Session::use() const noexcept {
  for (std::size_t i = 0; i < num_states_; ++i) delegates_[i].active = &states_[i];
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
