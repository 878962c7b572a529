// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>

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
