// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/method/session.hpp"

#include <utility>

#include "tenon/host/impl/method/loaded_delegate.hpp"

namespace tenon::host {

Session::~Session() {
  for (std::size_t i = num_states_; i-- > 0;) {
    if (delegates_[i].active == &states_[i]) delegates_[i].active = &delegates_[i].own;
    delegates_[i].destroy(states_[i].handle);
  }
}

Session::Session(detail::LoadedDelegate* delegates, std::size_t num_delegates)
    : delegates_(delegates), states_(new detail::DelegateState[num_delegates]) {}

Result<std::unique_ptr<Session>> Session::create(detail::LoadedDelegate* delegates,
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

void Session::use() const noexcept {
  for (std::size_t i = 0; i < num_states_; ++i) delegates_[i].active = &states_[i];
}

}  // namespace tenon::host
