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
    for (std::size_t i = handles_.size(); i-- > 0;) {
      if (delegates_[i].active == handles_[i]) delegates_[i].active = delegates_[i].handle;
      delegates_[i].destroy(handles_[i]);
    }
  }

 private:
  friend class Method;

  explicit Session(std::span<detail::LoadedDelegate> delegates) noexcept : delegates_(delegates) {}

  static Result<std::unique_ptr<Session>> create(std::span<detail::LoadedDelegate> delegates) {
    auto out = std::unique_ptr<Session>(new Session(delegates));
    out->handles_.reserve(delegates.size());
    for (std::size_t i = 0; i < delegates.size(); ++i) {
      auto handle = delegates[i].create_session();
      if (!handle.ok()) {
        return std::move(handle).status().with_context(concat("delegate ", i));
      }
      out->handles_.push_back(*handle);
    }
    return out;
  }

  void use() const noexcept {
    for (std::size_t i = 0; i < handles_.size(); ++i) delegates_[i].active = handles_[i];
  }

  std::span<detail::LoadedDelegate> delegates_;
  std::vector<tenon_delegate*> handles_;
};

}  // namespace tenon::host
