// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "tenon/abi/version.h"
#include "tenon/host/platform/file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// An open file descriptor, closed on destruction.
class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  /// Takes over `descriptor`; a negative number means no file.
  explicit FileDescriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (descriptor_ >= 0) platform::close(descriptor_);
  }

  [[nodiscard]] bool valid() const noexcept { return descriptor_ >= 0; }
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
};

}}}  // namespace tenon::TENON_RELEASE::host
