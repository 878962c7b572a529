// SPDX-License-Identifier: MIT
#pragma once

#include <zip.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "tenon/core/bytes.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Lets libzip read a file that is in memory, and records where in it libzip reads: libzip does not
/// report the offset of an entry's data, which is needed to use it in place. Outlives the archive
/// that is opened from it. Not thread-safe, as libzip is not.
class ZipWindow {
 public:
  explicit ZipWindow(Bytes file) noexcept : file_(file) { zip_error_init(&error_); }
  ~ZipWindow() { zip_error_fini(&error_); }
  ZipWindow(const ZipWindow&) = delete;
  ZipWindow& operator=(const ZipWindow&) = delete;

  [[nodiscard]] Bytes file() const noexcept { return file_; }

  /// From now on the first read counts.
  void watch() noexcept { first_read_.reset(); }
  /// Offset of the first read since `watch`.
  [[nodiscard]] std::optional<std::uint64_t> first_read() const noexcept { return first_read_; }

  /// A source for `zip_open_from_source`; null when memory runs out.
  [[nodiscard]] zip_source_t* make_source(zip_error_t* error) noexcept {
    return zip_source_function_create(&ZipWindow::answer, this, error);
  }

 private:
  static zip_int64_t answer(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command) {
    return static_cast<ZipWindow*>(self)->answer(data, length, command);
  }

  zip_int64_t answer(void* data, zip_uint64_t length, zip_source_cmd_t command) noexcept {
    switch (command) {
      case ZIP_SOURCE_OPEN:
        position_ = 0;
        return 0;
      case ZIP_SOURCE_READ:
        return read(data, length);
      case ZIP_SOURCE_SEEK: {
        const zip_int64_t position =
            zip_source_seek_compute_offset(position_, file_.size(), data, length, &error_);
        if (position < 0) return -1;
        position_ = static_cast<std::uint64_t>(position);
        return 0;
      }
      case ZIP_SOURCE_TELL:
        return static_cast<zip_int64_t>(position_);
      case ZIP_SOURCE_STAT: {
        auto* const stat = static_cast<zip_stat_t*>(data);
        zip_stat_init(stat);
        stat->size = file_.size();
        stat->valid = ZIP_STAT_SIZE;
        return sizeof *stat;
      }
      case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&error_, data, length);
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_FREE:
        return 0;
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR,
            ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS, -1);
      default:
        zip_error_set(&error_, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
  }

  zip_int64_t read(void* data, zip_uint64_t length) noexcept {
    const std::uint64_t begin = std::min<std::uint64_t>(position_, file_.size());
    const std::uint64_t count = std::min<std::uint64_t>(length, file_.size() - begin);
    if (!first_read_) first_read_ = begin;
    if (count != 0) std::memcpy(data, file_.data() + begin, static_cast<std::size_t>(count));
    position_ = begin + count;
    return static_cast<zip_int64_t>(count);
  }

  Bytes file_;
  std::uint64_t position_ = 0;
  std::optional<std::uint64_t> first_read_;
  zip_error_t error_;
};

}}}  // namespace tenon::TENON_RELEASE::aot::detail
