// SPDX-License-Identifier: MIT
#include "kit/case/settings_reader.hpp"

namespace tenon::inline TENON_RELEASE::conformance::detail {

Result<std::string> read_settings(const std::filesystem::path& path) {
  std::error_code code;
  const auto size = std::filesystem::file_size(path, code);
  if (code) {
    return error(Error::AccessFailed, path.string(), ": cannot be read: ", code.message());
  }
  if (size > max_settings_size) {
    return error(Error::InvalidArgument, path.string(), ": has ", size, " bytes, expected at most ",
                 max_settings_size);
  }
  return host::read_file(path);
}

}  // namespace tenon::inline TENON_RELEASE::conformance::detail
