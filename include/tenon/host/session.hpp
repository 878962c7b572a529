// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/loaded_delegate.hpp"

namespace tenon::host {

/// A state of its own for each delegate of a method, over the weights that the method loaded
/// (extension "tenon.sessions/1"). `Method::create_session` makes one and `Method::use_session`
/// switches to it.
///
/// State that the program keeps in the method's own memory, outside of delegates, is not part of a
/// session. Must go before its method does; a method that uses it goes back to its own state.
class Session {
 public:
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    for (std::size_t i = num_states_; i-- > 0;) {
      if (delegates_[i].active == &states_[i]) delegates_[i].active = &delegates_[i].own;
      delegates_[i].destroy(states_[i].handle);
    }
  }

 private:
  friend class Method;

  explicit Session(std::span<detail::LoadedDelegate> delegates)
      : delegates_(delegates), states_(new detail::DelegateState[delegates.size()]) {}

  static Result<std::unique_ptr<Session>> create(std::span<detail::LoadedDelegate> delegates) {
    auto out = std::unique_ptr<Session>(new Session(delegates));
    for (std::size_t i = 0; i < delegates.size(); ++i) {
      auto handle = delegates[i].create_session();
      if (!handle.ok()) {
        return std::move(handle).status().with_context(concat("delegate ", i));
      }
      out->states_[out->num_states_++].handle = *handle;
    }
    return out;
  }

  void use() const noexcept {
    for (std::size_t i = 0; i < num_states_; ++i) delegates_[i].active = &states_[i];
  }

  std::span<detail::LoadedDelegate> delegates_;
  std::unique_ptr<detail::DelegateState[]> states_;  // Delegates point to them.
  std::size_t num_states_ = 0;
};

}  // namespace tenon::host
