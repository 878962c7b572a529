// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/visible.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Outcome of a call: success, or an `Error` with a text that explains it.
///
/// Success is one null pointer, so that returning it from `execute` costs nothing. A failure always
/// has a text.
///
/// A text can be printed as it is, whatever a file or a plugin put into it: characters that a
/// terminal obeys, and bytes that are not UTF-8, are escapes (`\x1b`, `\u202e`). Letters of all
/// languages stay.
class [[nodiscard]] Status {
 public:
  /// Success.
  Status() noexcept = default;

  /// Failure. `error` must not be `Ok`; if it is, the status becomes `Internal` and says so,
  /// because a failure that looks like success would be lost. Line feeds of `text` stay: this is
  /// how a message gets several lines. Escape line feeds of a name with `detail::visible`, or make
  /// the message with `error`.
  Status(Error error, std::string text)
      : failure_(new Failure{error == Error::Ok ? Error::Internal : error,
                             detail::visible(std::move(text), '\n')}) {
    if (error == Error::Ok) failure_->text.insert(0, "failure made with Error::Ok: ");
  }

  Status(Status&& other) noexcept : failure_(std::exchange(other.failure_, nullptr)) {}
  Status& operator=(Status&& other) noexcept {
    Failure* const taken = std::exchange(other.failure_, nullptr);
    if (failure_ != nullptr) [[unlikely]]
      drop(failure_);
    failure_ = taken;
    return *this;
  }
  ~Status() {
    if (failure_ != nullptr) [[unlikely]]
      drop(failure_);
  }

  [[nodiscard]] bool ok() const noexcept { return failure_ == nullptr; }

  [[nodiscard]] Error error() const noexcept { return failure_ ? failure_->error : Error::Ok; }

  /// The explanation of a failure; empty on success. Valid until this status is destroyed or
  /// assigned to.
  [[nodiscard]] std::string_view text() const noexcept {
    return failure_ ? std::string_view(failure_->text) : std::string_view();
  }

  /// Puts `where` in front of the text of an error ("delegate 3 (Add): ..."). Leaves success as it
  /// is.
  [[nodiscard]] Status with_context(std::string_view where) && {
    if (failure_ != nullptr) [[unlikely]]
      prepend(*failure_, where);
    return std::move(*this);
  }

 private:
  struct Failure {
    Error error;
    std::string text;
  };

  // What only failures need, apart: the rest is then so small that a compiler puts it in place of
  // each call.
  [[gnu::cold]] static void drop(Failure* failure) noexcept { delete failure; }
  [[gnu::cold]] static void prepend(Failure& failure, std::string_view where) {
    failure.text.insert(0, detail::visible(concat(where, ": ")));
  }

  // Not a std::unique_ptr: <memory> costs each source that includes Tenon 0.3 s.
  Failure* failure_ = nullptr;
};

/// Success, to end a function with: `return tenon::ok();`.
inline Status ok() noexcept { return {}; }

namespace detail {

[[gnu::cold]] inline Status failure(Error code, std::initializer_list<Piece> pieces) {
  return Status(code, visible(concat_pieces(pieces)));
}

}  // namespace detail

/// A failure whose text is the pieces joined: `error(Error::InvalidArgument, "rank is ", rank)`.
/// The text is one line: a line feed in a piece becomes `\n`.
template <class... Pieces>
  requires(sizeof...(Pieces) > 0)
[[nodiscard]] Status error(Error code, const Pieces&... pieces) {
  return detail::failure(code, {detail::Piece(pieces)...});
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

}}  // namespace tenon::TENON_RELEASE
