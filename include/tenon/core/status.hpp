// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"

namespace tenon {

/// Outcome of a call: success, or an `Error` with a text that says what was wrong.
///
/// Success is one null pointer, so that returning it from `execute` costs nothing. A failure always
/// has a text: there is no way to make one without it.
class [[nodiscard]] Status {
 public:
  /// Success.
  Status() noexcept = default;

  /// Failure. `error` must not be `Ok`; if it is, the status becomes `Internal` and says so,
  /// because a failure that looks like success would be lost.
  Status(Error error, std::string text)
      : failure_(std::make_unique<Failure>(
            error == Error::Ok
                ? Failure{Error::Internal, "failure made with Error::Ok: " + std::move(text)}
                : Failure{error, std::move(text)})) {}

  [[nodiscard]] bool ok() const noexcept { return failure_ == nullptr; }

  [[nodiscard]] Error error() const noexcept { return failure_ ? failure_->error : Error::Ok; }

  /// What was wrong; empty on success. Valid while this status lives and is not assigned to.
  [[nodiscard]] std::string_view text() const noexcept {
    return failure_ ? std::string_view(failure_->text) : std::string_view();
  }

  /// The same error with `where` in front of its text ("delegate 3 (Add): ..."). Success stays.
  [[nodiscard]] Status with_context(std::string_view where) && {
    if (failure_) failure_->text.insert(0, concat(where, ": "));
    return std::move(*this);
  }

 private:
  struct Failure {
    Error error;
    std::string text;
  };
  std::unique_ptr<Failure> failure_;
};

/// Success, to end a function with: `return tenon::ok();`.
inline Status ok() noexcept { return {}; }

/// A failure whose text is the pieces joined: `error(Error::InvalidArgument, "rank is ", rank)`.
template <class... Pieces>
[[nodiscard]] Status error(Error code, const Pieces&... pieces) {
  return Status(code, concat(pieces...));
}

/// "InvalidProgram (0x23): text", the form in which every program here prints a failure.
[[nodiscard]] inline std::string describe(const Status& status) {
  if (status.ok()) return "Ok";
  char digits[16];
  const auto number = static_cast<unsigned>(status.error());
  const auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
  return concat(error_name(status.error()), " (0x", std::string_view(digits, end),
                "): ", status.text());
}

}  // namespace tenon
