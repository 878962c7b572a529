// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/core/status.hpp"

namespace tenon {

namespace detail {

/// The failure of a `Result` that was made from a success. Apart, as every `Result` has one.
[[gnu::cold]] inline Status success_without_value() {
  return {Error::Internal, "Result made from a successful Status"};
}

}  // namespace detail

/// A `T`, or a failure. The interface is that of ExecuTorch's `Result<T>` (`ok`, `get`, `error`),
/// with a text for failures.
///
/// Movable when `T` is, never copied. A union and not a `std::variant`, which every `T` would have
/// to instantiate.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  template <class U = T>
    requires std::constructible_from<T, U&&> && (!std::same_as<std::remove_cvref_t<U>, Result>) &&
                 (!std::same_as<std::remove_cvref_t<U>, Status>)
  Result(U&& value) : value_(static_cast<T>(std::forward<U>(value))), ok_(true) {}

  /// Failure. A status that is `ok()` holds no value to return, so it becomes `Internal`.
  Result(Status failure) : failure_(std::move(failure)), ok_(false) {
    if (failure_.ok()) [[unlikely]]
      failure_ = detail::success_without_value();
  }

  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
    requires std::is_move_constructible_v<T>
      : ok_(other.ok_) {
    if (ok_) {
      create(std::move(other.value_));
    } else {
      ::new (static_cast<void*>(&failure_)) Status(std::move(other.failure_));
    }
  }

  Result& operator=(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T> &&
                                             std::is_nothrow_move_assignable_v<T>)
    requires std::is_move_constructible_v<T> && std::is_move_assignable_v<T>
  {
    if (ok_ && other.ok_) {
      value_ = std::move(other.value_);
    } else if (ok_) {
      value_.~T();
      ::new (static_cast<void*>(&failure_)) Status(std::move(other.failure_));
      ok_ = false;
    } else if (other.ok_) {
      failure_.~Status();
      Restore restore{this};
      create(std::move(other.value_));
      restore.result = nullptr;
      ok_ = true;
    } else {
      failure_ = std::move(other.failure_);
    }
    return *this;
  }

  ~Result() {
    if (ok_) {
      value_.~T();
    } else {
      failure_.~Status();
    }
  }

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  explicit operator bool() const noexcept { return ok_; }

  [[nodiscard]] Error error() const noexcept { return ok_ ? Error::Ok : failure_.error(); }
  [[nodiscard]] std::string_view text() const noexcept {
    return ok_ ? std::string_view() : failure_.text();
  }

  /// The failure, moved out; success if the result holds a value. The text is empty afterwards.
  [[nodiscard]] Status status() && { return ok_ ? Status() : std::move(failure_); }

  /// The value. Only when `ok()`: otherwise the behaviour is undefined, as with `std::optional`.
  [[nodiscard]] T& get() & noexcept { return value_; }
  [[nodiscard]] const T& get() const& noexcept { return value_; }
  [[nodiscard]] T&& get() && noexcept { return std::move(value_); }
  [[nodiscard]] T& operator*() & noexcept { return value_; }
  [[nodiscard]] const T& operator*() const& noexcept { return value_; }
  [[nodiscard]] T&& operator*() && noexcept { return std::move(value_); }
  [[nodiscard]] T* operator->() noexcept { return &value_; }
  [[nodiscard]] const T* operator->() const noexcept { return &value_; }

 private:
  /// Makes the failure again, without a text, when the constructor of `T` throws.
  struct Restore {
    Result* result;
    ~Restore() {
      if (result) ::new (static_cast<void*>(&result->failure_)) Status();
    }
  };

  void create(T&& value) { ::new (static_cast<void*>(&value_)) T(std::move(value)); }

  union {
    T value_;
    Status failure_;
  };
  bool ok_;
};

namespace detail {

// A named outcome is moved from as well: a macro that takes it returns if it is a failure. One that
// is const is copied.
inline Status take_status(Status&& status) noexcept { return std::move(status); }
inline Status take_status(Status& status) noexcept { return std::move(status); }
inline Status take_status(const Status& status) {
  return status.ok() ? Status() : Status(status.error(), std::string(status.text()));
}
template <class T>
Status take_status(Result<T>&& result) noexcept {
  return std::move(result).status();
}
template <class T>
Status take_status(Result<T>& result) noexcept {
  return std::move(result).status();
}
template <class T>
Status take_status(const Result<T>& result) {
  return result.ok() ? Status() : Status(result.error(), std::string(result.text()));
}

}  // namespace detail
}  // namespace tenon

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
#define TENON_DETAIL_TRY(result, declaration, expression)                   \
  auto result = (expression);                                               \
  if (!result.ok()) return ::tenon::detail::take_status(std::move(result)); \
  declaration = *std::move(result)
