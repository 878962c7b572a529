// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/platform/new_file.hpp"

#if defined(_WIN32)
#include "tenon/host/platform/impl/windows/new_file.hpp"
#else
#include "tenon/host/platform/impl/posix/new_file.hpp"
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Status write_file(const std::filesystem::path& path, std::initializer_list<Bytes> parts) {
  TENON_TRY(NewFile file, NewFile::create(path));
  for (const Bytes part : parts) TENON_RETURN_IF_ERROR(file.write(part));
  return file.commit();
}

}}}  // namespace tenon::TENON_RELEASE::host
