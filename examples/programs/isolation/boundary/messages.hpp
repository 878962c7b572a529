// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tenon::isolated {

/// Collects the bytes of a message. Its memory is used again for the next one.
class Writer {
 public:
  void clear() noexcept { bytes_.clear(); }

  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    put_raw(&value, sizeof value);
  }
  /// Bytes and their number.
  void put_bytes(const void* data, std::uint64_t size) {
    put(size);
    put_raw(data, static_cast<std::size_t>(size));
  }
  /// Puts the number and returns room for the bytes, which the caller writes before anything else
  /// is put.
  [[nodiscard]] std::byte* put_room(std::uint64_t size) {
    put(size);
    const std::size_t at = bytes_.size();
    bytes_.resize(at + static_cast<std::size_t>(size));
    return bytes_.data() + at;
  }
  void put_text(std::string_view text) { put_bytes(text.data(), text.size()); }
  /// A text that may be null.
  void put_name(const char* text) {
    put<std::uint8_t>(text != nullptr);
    if (text) put_text(text);
  }
  template <class T>
  void put_array(const T* data, std::size_t count) {
    put_raw(data, count * sizeof(T));
  }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  /// Replaces what is at `at`.
  template <class T>
  void put_at(std::size_t at, const T& value) noexcept {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }

 private:
  void put_raw(const void* data, std::size_t size) {
    if (size == 0) return;
    const std::size_t at = bytes_.size();
    bytes_.resize(at + size);
    std::memcpy(bytes_.data() + at, data, size);
  }

  std::vector<std::byte> bytes_;
};

/// Takes a message apart. What is not there reads as zero, and `ok` is false from then on: a reader
/// checks it once, after the last member and before what was read is used.
class Reader {
 public:
  Reader() noexcept = default;
  explicit Reader(std::span<const std::byte> bytes) noexcept : left_(bytes) {}

  template <class T>
  T get() noexcept {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    T out{};
    const std::span<const std::byte> bytes = take(sizeof(T));
    if (!bytes.empty()) std::memcpy(&out, bytes.data(), sizeof out);
    return out;
  }
  std::span<const std::byte> get_bytes() noexcept { return take(get<std::uint64_t>()); }
  std::string_view get_text() noexcept {
    const std::span<const std::byte> bytes = get_bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  bool get_name(std::string& out) {
    const bool is_there = get<std::uint8_t>() != 0;
    out = is_there ? get_text() : std::string_view();
    return is_there;
  }
  template <class T>
  bool get_array(T* out, std::size_t count) noexcept {
    if (count == 0) return ok_;
    if (count > left_.size() / sizeof(T)) return fail();
    std::memcpy(out, left_.data(), count * sizeof(T));
    left_ = left_.subspan(count * sizeof(T));
    return true;
  }
  /// A number of parts that follow, of at least `size` bytes each.
  std::size_t get_count(std::size_t size) noexcept {
    return check_count(get<std::uint64_t>(), size);
  }
  /// Returns `count`, which was read before; 0 when so many parts are not there.
  std::size_t check_count(std::uint64_t count, std::size_t size) noexcept {
    if (size != 0 && count > left_.size() / size) {
      fail();
      return 0;
    }
    return static_cast<std::size_t>(count);
  }
  bool fail() noexcept {
    left_ = {};
    return ok_ = false;
  }

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool is_at_end() const noexcept { return ok_ && left_.empty(); }

 private:
  std::span<const std::byte> take(std::uint64_t size) noexcept {
    if (size > left_.size()) {
      fail();
      return {};
    }
    const auto out = left_.first(static_cast<std::size_t>(size));
    left_ = left_.subspan(static_cast<std::size_t>(size));
    return out;
  }

  std::span<const std::byte> left_;
  bool ok_ = true;
};

}  // namespace tenon::isolated
