// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/platform/windows/new_file.hpp"

#include <atomic>
#include <cstring>
#include <system_error>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/windows/file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<NewFile> NewFile::create(const std::filesystem::path& path) {
  NewFile out;
  out.path_ = path;
  const ::DWORD attributes = ::GetFileAttributesW(path.c_str());
  const bool exists = attributes != INVALID_FILE_ATTRIBUTES;
  if (exists && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
    return error(Error::AccessFailed, path_text(path), ": is a directory, expected a file");
  }
  if (exists) {
    platform::Handle there(::CreateFileW(path.c_str(), GENERIC_WRITE,
                                         FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                         nullptr, OPEN_EXISTING, 0, nullptr));
    if (!there.valid()) return out.failed("cannot be opened to write", ::GetLastError());
    if (::GetFileType(there.get()) != FILE_TYPE_DISK) {
      out.file_ = std::move(there);
      return Result<NewFile>(std::move(out));
    }
  }
  std::error_code problem;
  out.target_ =
      exists ? std::filesystem::canonical(path, problem) : std::filesystem::absolute(path, problem);
  if (problem) return error(Error::AccessFailed, path_text(path), ": ", problem.message());
  TENON_RETURN_IF_ERROR(out.open());
  return Result<NewFile>(std::move(out));
}

Result<NewFile> NewFile::replace(const std::filesystem::path& path) {
  NewFile out;
  out.path_ = path;
  std::error_code problem;
  out.target_ = std::filesystem::absolute(path, problem);
  if (problem) return error(Error::AccessFailed, path_text(path), ": ", problem.message());
  TENON_RETURN_IF_ERROR(out.open());
  return Result<NewFile>(std::move(out));
}

Status NewFile::open() {
  static std::atomic<unsigned> counter{0};
  ::DWORD failure = ERROR_FILE_EXISTS;
  for (int attempts = 0; failure == ERROR_FILE_EXISTS && attempts < 100; ++attempts) {
    const std::filesystem::path temporary =
        target_.parent_path() / path_of(concat(".tenon-", std::int64_t{::GetCurrentProcessId()},
                                               "-", counter.fetch_add(1), ".tmp"));
    // DELETE: it gets its name through the handle, and is marked to be removed until then.
    file_ = platform::Handle(::CreateFileW(temporary.c_str(), GENERIC_WRITE | DELETE, 0, nullptr,
                                           CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr));
    failure = file_.valid() ? ERROR_SUCCESS : ::GetLastError();
  }
  if (failure != ERROR_SUCCESS) return failed("cannot create a file next to it", failure);
  ::FILE_DISPOSITION_INFO removed{TRUE};
  if (!::SetFileInformationByHandle(file_.get(), FileDispositionInfo, &removed, sizeof removed)) {
    return failed("cannot be marked to be removed", ::GetLastError());
  }
  return ok();
}

Status NewFile::write(Bytes bytes) {
  while (!bytes.empty()) {
    ::DWORD done = 0;
    if (!::WriteFile(file_.get(), bytes.data(), platform::piece_of(bytes.size()), &done, nullptr)) {
      return failed("cannot write", ::GetLastError());
    }
    bytes = bytes.subspan(done);
  }
  return ok();
}

Status NewFile::set_permissions(std::filesystem::perms /*permissions*/) { return ok(); }

Status NewFile::commit() {
  const platform::Handle file = std::move(file_);
  if (target_.empty()) return ok();
  ::FILE_DISPOSITION_INFO kept{FALSE};
  if (!::SetFileInformationByHandle(file.get(), FileDispositionInfo, &kept, sizeof kept)) {
    return failed("cannot be given its name", ::GetLastError());
  }
  const std::wstring& name = target_.native();
  std::vector<std::byte> memory(sizeof(::FILE_RENAME_INFO) + name.size() * sizeof(wchar_t));
  auto* const rename = reinterpret_cast<::FILE_RENAME_INFO*>(memory.data());
  rename->ReplaceIfExists = TRUE;
  rename->FileNameLength = static_cast<::DWORD>(name.size() * sizeof(wchar_t));
  std::memcpy(rename->FileName, name.data(), rename->FileNameLength);
  if (::SetFileInformationByHandle(file.get(), FileRenameInfo, rename,
                                   static_cast<::DWORD>(memory.size()))) {
    return ok();
  }
  const ::DWORD failure = ::GetLastError();
  ::FILE_DISPOSITION_INFO removed{TRUE};
  ::SetFileInformationByHandle(file.get(), FileDispositionInfo, &removed, sizeof removed);
  return failed("cannot be given its name", failure);
}

Status NewFile::failed(std::string_view what, ::DWORD failure) const {
  const bool is_full = failure == ERROR_DISK_FULL || failure == ERROR_HANDLE_DISK_FULL;
  return error(is_full ? Error::OutOfResources : Error::AccessFailed, path_text(path_), ": ", what,
               ": ", platform::reason_of(failure));
}

}}}  // namespace tenon::TENON_RELEASE::host
