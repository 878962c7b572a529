// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>
#include <variant>

#include "tenon/core/status.hpp"

namespace tenon {

/// A `T`, or the failure that kept it from being made. The shape is that of ExecuTorch's
/// `Result<T>` (`ok`, `get`, `error`) with the text kept.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  template <class U = T>
  requires std::constructible_from<T, U&&> &&(!std::same_as<std::remove_cvref_t<U>, Result>)&&(
      !std::same_as<std::remove_cvref_t<U>, Status>)Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  /// Failure. A status that is `ok()` holds no value to return, so it becomes `Internal`.
  Result(Status failure)
      : state_(std::in_place_index<1>,
               failure.ok() ? Status(Error::Internal, "Result made from a successful Status")
                            : std::move(failure)) {}

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  [[nodiscard]] Error error() const noexcept { return ok() ? Error::Ok : failure().error(); }
  [[nodiscard]] std::string_view text() const noexcept {
    return ok() ? std::string_view() : failure().text();
  }

  /// The failure, moved out; success if there is none. The result keeps no text afterwards.
  [[nodiscard]] Status status() && { return ok() ? Status() : std::move(*std::get_if<1>(&state_)); }

  /// The value. Only when `ok()`: otherwise the behaviour is undefined, as with `std::optional`.
  [[nodiscard]] T& get() & noexcept { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& get() const& noexcept { return *std::get_if<0>(&state_); }
  [[nodiscard]] T&& get() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  [[nodiscard]] T& operator*() & noexcept { return get(); }
  [[nodiscard]] const T& operator*() const& noexcept { return get(); }
  [[nodiscard]] T&& operator*() && noexcept { return std::move(*this).get(); }
  [[nodiscard]] T* operator->() noexcept { return std::get_if<0>(&state_); }
  [[nodiscard]] const T* operator->() const noexcept { return std::get_if<0>(&state_); }

 private:
  [[nodiscard]] const Status& failure() const noexcept { return *std::get_if<1>(&state_); }

  std::variant<T, Status> state_;
};

namespace detail {

inline Status take_status(Status&& status) noexcept { return std::move(status); }
template <class T>
Status take_status(Result<T>&& result) noexcept {
  return std::move(result).status();
}

}  // namespace detail
}  // namespace tenon

#define TENON_DETAIL_JOIN2(a, b) a##b
#define TENON_DETAIL_JOIN(a, b) TENON_DETAIL_JOIN2(a, b)

/// Returns the failure of a `Status` or `Result` expression from the enclosing function, if any.
#define TENON_CHECK(expression)                                      \
  do {                                                               \
    if (auto tenon_outcome = (expression); !tenon_outcome.ok()) {    \
      return ::tenon::detail::take_status(std::move(tenon_outcome)); \
    }                                                                \
  } while (false)

/// `TENON_TRY(auto x, f());` declares `x` from the value of a `Result`, or returns its failure.
#define TENON_TRY(declaration, expression) \
  TENON_DETAIL_TRY(TENON_DETAIL_JOIN(tenon_result_, __LINE__), declaration, expression)
#define TENON_DETAIL_TRY(result, declaration, expression)                   \
  auto result = (expression);                                               \
  if (!result.ok()) return ::tenon::detail::take_status(std::move(result)); \
  declaration = *std::move(result)
