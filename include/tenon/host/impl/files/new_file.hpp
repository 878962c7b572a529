// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/files/new_file.hpp"

#if defined(_WIN32)
#include "tenon/host/impl/platform/windows/new_file.hpp"
#else
#include "tenon/host/impl/platform/posix/new_file.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Status write_file(const std::filesystem::path& path, std::initializer_list<Bytes> parts) {
  TENON_TRY(NewFile file, NewFile::create(path));
  for (const Bytes part : parts) TENON_RETURN_IF_ERROR(file.write(part));
  return file.commit();
}

}}}  // namespace tenon::TENON_RELEASE::host
