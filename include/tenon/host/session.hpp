// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

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
    for (std::size_t i = states_.size(); i-- > 0;) {
      if (delegates_[i].active == &states_[i]) delegates_[i].active = &delegates_[i].own;
      delegates_[i].destroy(states_[i].handle);
    }
  }

 private:
  friend class Method;

  explicit Session(std::span<detail::LoadedDelegate> delegates) noexcept : delegates_(delegates) {}

  static Result<std::unique_ptr<Session>> create(std::span<detail::LoadedDelegate> delegates) {
    auto out = std::unique_ptr<Session>(new Session(delegates));
    out->states_.reserve(delegates.size());  // Their addresses stay.
    for (std::size_t i = 0; i < delegates.size(); ++i) {
      auto handle = delegates[i].create_session();
      if (!handle.ok()) {
        return std::move(handle).status().with_context(concat("delegate ", i));
      }
      out->states_.push_back({*handle, nullptr});
    }
    return out;
  }

  void use() noexcept {
    for (std::size_t i = 0; i < states_.size(); ++i) delegates_[i].active = &states_[i];
  }

  std::span<detail::LoadedDelegate> delegates_;
  std::vector<detail::DelegateState> states_;
};

}  // namespace tenon::host
