// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "error.hpp"
#include "method.hpp"

namespace tenon::python {

/// Keeps other threads from running or changing a method while it lives.
class Busy {
 public:
  explicit Busy(const MethodObject& method) : state_(*method.state) {
    if (!state_.is_busy.exchange(true, std::memory_order_acquire)) return;
    if (state_.has_conversations) {
      raise(error(Error::InvalidState, "method ", method.name,
                  ": has conversations, which run it; load another method for this "
                  "(Program.load_method)"));
    }
    raise(error(Error::InvalidState, "method ", method.name,
                ": is running on another thread; load one method for each thread "
                "(Program.load_method)"));
  }
  ~Busy() {
    state_.abandoned.clear();
    state_.abandoned_sequences.clear();
    state_.is_busy.store(false, std::memory_order_release);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  MethodState& state_;
};

inline void check_open(const MethodObject& method) {
  if (method.state) [[likely]]
    return;
  raise(error(Error::InvalidState, "method ", method.name,
              ": expected an open method, found a closed one"));
}

}  // namespace tenon::python
