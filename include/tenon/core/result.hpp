// SPDX-License-Identifier: MIT
#pragma once

#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE {

namespace detail {

/// The failure of a `Result` that was made from a success. Apart, as every `Result` has one.
[[gnu::cold]] inline Status success_without_value() {
  return {Error::Internal, "Result made from a successful Status"};
}

}  // namespace detail

/// All of a `Result` but its value. Not a template, so that a compiler has one set of these
/// functions for the `Result`s of all types.
class ResultState {
 public:
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  explicit operator bool() const noexcept { return ok_; }

  [[nodiscard]] Error error() const noexcept { return failure_.error(); }
  [[nodiscard]] std::string_view text() const noexcept { return failure_.text(); }

  /// The failure, moved out; success if the result holds a value. The text is empty afterwards.
  [[nodiscard]] Status status() && noexcept { return static_cast<Status&&>(failure_); }

 protected:
  ResultState() noexcept : ok_(true) {}
  explicit ResultState(Status&& failure) : failure_(static_cast<Status&&>(failure)), ok_(false) {
    if (failure_.ok()) [[unlikely]]
      failure_ = detail::success_without_value();
  }
  ResultState(ResultState&& other) noexcept = default;
  ResultState& operator=(ResultState&& other) noexcept = default;
  ~ResultState() = default;

  Status failure_;
  bool ok_;  // A failure that was moved out leaves neither a failure nor a value.
};

/// A `T`, or a failure. It has the interface of ExecuTorch's `Result<T>` (`ok`, `get`, `error`),
/// with a text for failures.
///
/// Movable when `T` is, never copied. A union and not a `std::variant`, which every `T` would have
/// to instantiate.
template <class T>
class [[nodiscard]] Result : public ResultState {
 public:
  using value_type = T;

  // The cheap conditions come first: each `return error(...)` is compared with this constructor.
  template <class U = T>
    requires(!std::is_same_v<std::remove_cvref_t<U>, Status> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result> && std::is_constructible_v<T, U>)
  Result(U&& value) : value_(static_cast<T>(static_cast<U&&>(value))) {}

  /// Failure. A status that is `ok()` holds no value to return, so it becomes `Internal`.
  Result(Status failure) : ResultState(static_cast<Status&&>(failure)) {}

  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
    requires std::is_move_constructible_v<T>
      : ResultState(static_cast<ResultState&&>(other)) {
    if (ok_) create(static_cast<T&&>(other.value_));
  }

  Result& operator=(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T> &&
                                             std::is_nothrow_move_assignable_v<T>)
    requires std::is_move_constructible_v<T> && std::is_move_assignable_v<T>
  {
    if (ok_ && other.ok_) {
      value_ = static_cast<T&&>(other.value_);
    } else if (ok_) {
      value_.~T();
    } else if (other.ok_) {
      create(static_cast<T&&>(other.value_));
    }
    ResultState::operator=(static_cast<ResultState&&>(other));
    return *this;
  }

  ~Result() {
    if (ok_) value_.~T();
  }

  /// The value. Only when `ok()`: otherwise the behaviour is undefined, as with `std::optional`.
  [[nodiscard]] T& get() & noexcept { return value_; }
  [[nodiscard]] const T& get() const& noexcept { return value_; }
  [[nodiscard]] T&& get() && noexcept { return static_cast<T&&>(value_); }
  [[nodiscard]] T& operator*() & noexcept { return value_; }
  [[nodiscard]] const T& operator*() const& noexcept { return value_; }
  [[nodiscard]] T&& operator*() && noexcept { return static_cast<T&&>(value_); }
  [[nodiscard]] T* operator->() noexcept { return &value_; }
  [[nodiscard]] const T* operator->() const noexcept { return &value_; }

 private:
  void create(T&& value) { ::new (static_cast<void*>(&value_)) T(static_cast<T&&>(value)); }

  union {
    T value_;
  };
};

namespace detail {

// A named outcome is moved from as well: a macro that takes it returns if it is a failure. A const
// outcome is copied.
inline Status take_status(Status&& status) noexcept { return static_cast<Status&&>(status); }
inline Status take_status(Status& status) noexcept { return static_cast<Status&&>(status); }
inline Status take_status(const Status& status) {
  return status.ok() ? Status() : Status(status.error(), std::string(status.text()));
}
inline Status take_status(ResultState&& result) noexcept {
  return static_cast<ResultState&&>(result).status();
}
inline Status take_status(ResultState& result) noexcept {
  return static_cast<ResultState&&>(result).status();
}
inline Status take_status(const ResultState& result) {
  return result.ok() ? Status() : Status(result.error(), std::string(result.text()));
}

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE

#define TENON_DETAIL_JOIN2(a, b) a##b
#define TENON_DETAIL_JOIN(a, b) TENON_DETAIL_JOIN2(a, b)

/// Returns the failure of a `Status` or `Result` expression from the enclosing function, if any.
/// The expression may be a variable: its failure is moved out, a success is not changed. It must
/// not be a reference to a part of one of its own temporaries.
#define TENON_RETURN_IF_ERROR(expression)                                                       \
  do {                                                                                          \
    if (auto&& tenon_outcome = (expression); !tenon_outcome.ok()) {                             \
      return ::tenon::detail::take_status(static_cast<decltype(tenon_outcome)>(tenon_outcome)); \
    }                                                                                           \
  } while (false)

/// `TENON_TRY(auto x, f());` declares `x` from the value of a `Result`, or returns its failure.
#define TENON_TRY(declaration, expression) \
  TENON_DETAIL_TRY(TENON_DETAIL_JOIN(tenon_result_, __LINE__), declaration, expression)
#define TENON_DETAIL_TRY(result, declaration, expression)        \
  auto result = (expression);                                    \
  if (!result.ok()) return ::tenon::detail::take_status(result); \
  declaration = *static_cast<decltype(result)&&>(result)
