// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/platform/trusted_path.hpp"

#include <aclapi.h>
#include <sddl.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/host/platform/impl/windows/regular_file.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/windows/list_directory.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace platform {

/// The security identifier of an account, in its own memory.
using Sid = std::array<std::byte, SECURITY_MAX_SID_SIZE>;

/// The accounts that answer for files: the user of this process, and the system's accounts.
class TrustedAccounts {
 public:
  TrustedAccounts() {
    ::HANDLE opened = nullptr;
    if (::OpenProcessToken(::GetCurrentProcess(), TOKEN_QUERY, &opened)) {
      const Handle token(opened);
      alignas(::TOKEN_USER) std::array<std::byte, sizeof(::TOKEN_USER) + sizeof(Sid)> user{};
      ::DWORD size = 0;
      if (::GetTokenInformation(opened, TokenUser, user.data(), sizeof user, &size)) {
        add(reinterpret_cast<::TOKEN_USER*>(user.data())->User.Sid);
      }
    }
    for (const ::WELL_KNOWN_SID_TYPE type : {WinBuiltinAdministratorsSid, WinLocalSystemSid}) {
      Sid sid{};
      ::DWORD size = sizeof sid;
      if (::CreateWellKnownSid(type, nullptr, sid.data(), &size)) add(sid.data());
    }
    // NT SERVICE\TrustedInstaller, whose number is the same on every system.
    ::PSID installer = nullptr;
    if (::ConvertStringSidToSidW(L"S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464",
                                 &installer)) {
      add(installer);
      ::LocalFree(installer);
    }
  }

  [[nodiscard]] bool hold(::PSID sid) const noexcept {
    for (std::size_t i = 0; i < size_; ++i) {
      if (::EqualSid(sid, const_cast<std::byte*>(sids_[i].data()))) return true;
    }
    return false;
  }

 private:
  void add(::PSID sid) noexcept {
    if (::CopySid(sizeof(Sid), sids_[size_].data(), sid)) ++size_;
  }

  std::array<Sid, 4> sids_{};
  std::size_t size_ = 0;
};

/// "S-1-1-0 (\\Everyone)"
inline std::string account_text(::PSID sid) {
  std::string out = "an unknown account";
  if (wchar_t* text = nullptr; ::ConvertSidToStringSidW(sid, &text)) {
    out = to_utf8(text, static_cast<int>(std::char_traits<wchar_t>::length(text)));
    ::LocalFree(text);
  }
  wchar_t name[256], domain[256];
  ::DWORD name_size = 256, domain_size = 256;
  ::SID_NAME_USE use{};
  if (::LookupAccountSidW(nullptr, sid, name, &name_size, domain, &domain_size, &use)) {
    out += concat(" (", to_utf8(domain, static_cast<int>(domain_size)), domain_size ? "\\" : "",
                  to_utf8(name, static_cast<int>(name_size)), ")");
  }
  return out;
}

/// Walks along an absolute path and checks which accounts can change each component.
class TrustedWalk {
 public:
  explicit TrustedWalk(const std::filesystem::path& asked) : asked_(asked) {}

  /// Opens each directory down to `directory`, and keeps them open so that none can be renamed.
  Result<std::vector<Handle>> hold_directories(const std::filesystem::path& directory) {
    const std::wstring root = directory.root_name().native();
    if (root.size() != 2 || root[1] != L':' || !directory.has_root_directory()) {
      return error(Error::InvalidArgument, path_text(asked_), ": is on no drive, expected ",
                   absolute_path);
    }
    std::vector<Handle> held;
    std::filesystem::path at = directory.root_path();
    TENON_TRY(Handle drive, open_directory(at));
    held.push_back(std::move(drive));
    for (const std::filesystem::path& part : directory.relative_path()) {
      if (part.empty() || part == L".") continue;
      at /= part;
      TENON_TRY(Handle next, open_directory(at));
      held.push_back(std::move(next));
    }
    // In a directory of the way others may add entries, as in C:\; next to a plugin they may not,
    // because a library there may be loaded with it.
    TENON_RETURN_IF_ERROR(check_rights(held.back(), at, "directory",
                                       changes | FILE_ADD_FILE | FILE_ADD_SUBDIRECTORY));
    return held;
  }

  Result<OpenedFile> open_last() {
    Handle handle = open_handle(asked_, FILE_SHARE_READ, FILE_FLAG_OPEN_REPARSE_POINT);
    if (!handle.valid()) return refused(asked_, errno);
    TENON_RETURN_IF_ERROR(check_link(handle, asked_));
    TENON_RETURN_IF_ERROR(
        check_rights(handle, asked_, "file", changes | FILE_WRITE_DATA | FILE_APPEND_DATA));
    return take_file(std::move(handle), asked_, Trust::checked);
  }

  [[nodiscard]] Status refused(const std::filesystem::path& at, int number) const {
    return system_refusal(asked_, at, number);
  }

 private:
  /// Rights that change anything, of a file or directory.
  static constexpr ::DWORD changes = DELETE | WRITE_DAC | WRITE_OWNER | FILE_DELETE_CHILD;

  Result<Handle> open_directory(const std::filesystem::path& at) {
    Handle handle =
        open_handle(at, FILE_SHARE_READ | FILE_SHARE_WRITE, FILE_FLAG_OPEN_REPARSE_POINT);
    if (!handle.valid()) return refused(at, errno);
    TENON_RETURN_IF_ERROR(check_link(handle, at));
    FileStatus status;
    if (!get_status(handle.get(), status)) return refused(at, errno);
    if (status.kind != FileKind::directory) {
      return error(Error::InvalidArgument, path_text(asked_), ": ", path_text(at),
                   " is not a directory, expected one");
    }
    TENON_RETURN_IF_ERROR(check_rights(handle, at, "directory", changes));
    return handle;
  }

  [[nodiscard]] Status check_link(const Handle& handle, const std::filesystem::path& at) const {
    ::BY_HANDLE_FILE_INFORMATION facts{};
    if (!::GetFileInformationByHandle(handle.get(), &facts)) {
      set_errno();
      return refused(at, errno);
    }
    if ((facts.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0) return ok();
    return error(Error::AccessFailed, path_text(asked_), ": ", path_text(at),
                 " is a link (a reparse point), expected a path without links");
  }

  [[nodiscard]] Status check_rights(const Handle& handle, const std::filesystem::path& at,
                                    std::string_view what, ::DWORD forbidden) const {
    ::PSID owner = nullptr;
    ::PACL list = nullptr;
    ::PSECURITY_DESCRIPTOR security = nullptr;
    const ::DWORD failure = ::GetSecurityInfo(
        handle.get(), SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
        &owner, nullptr, &list, nullptr, &security);
    if (failure != ERROR_SUCCESS) return refused(at, errno_of(failure));
    Status judged = judge(owner, list, at, what, forbidden);
    ::LocalFree(security);
    return judged;
  }

  [[nodiscard]] Status judge(::PSID owner, ::PACL list, const std::filesystem::path& at,
                             std::string_view what, ::DWORD forbidden) const {
    const std::string subject =
        at == asked_ ? concat(path_text(asked_), ": ")
                     : concat(path_text(asked_), ": ", what, " ", path_text(at), " ");
    if (!owner || !accounts_.hold(owner)) {
      return error(Error::AccessFailed, subject, "belongs to ", account_text(owner),
                   ", expected the user of this process, Administrators or the system");
    }
    if (!list) {
      return error(Error::AccessFailed, subject,
                   "has no access list: every account may write to it");
    }
    for (::DWORD i = 0; i < list->AceCount; ++i) {
      void* found = nullptr;
      if (!::GetAce(list, i, &found)) return refused(at, EIO);
      // The entries that allow and deny begin alike: type and flags, the rights, the account.
      auto* const entry = static_cast<::ACCESS_ALLOWED_ACE*>(found);
      const unsigned type = entry->Header.AceType;
      if (type == ACCESS_DENIED_ACE_TYPE || type == ACCESS_DENIED_CALLBACK_ACE_TYPE) continue;
      if ((entry->Header.AceFlags & INHERIT_ONLY_ACE) != 0) continue;
      if (type != ACCESS_ALLOWED_ACE_TYPE && type != ACCESS_ALLOWED_CALLBACK_ACE_TYPE) {
        return error(Error::AccessFailed, subject, "has an access list with an entry of type ",
                     type, ", which is not understood");
      }
      ::GENERIC_MAPPING mapping{FILE_GENERIC_READ, FILE_GENERIC_WRITE, FILE_GENERIC_EXECUTE,
                                FILE_ALL_ACCESS};
      ::DWORD rights = entry->Mask;
      ::MapGenericMask(&rights, &mapping);
      if ((rights & forbidden) == 0 || accounts_.hold(&entry->SidStart)) continue;
      return error(Error::AccessFailed, subject, "may be changed by ",
                   account_text(&entry->SidStart),
                   ", expected only its owner, Administrators and the system to have that right");
    }
    return ok();
  }

  const std::filesystem::path& asked_;
  const TrustedAccounts accounts_;
};

}  // namespace platform

namespace detail {

inline Result<OpenedFile> open_checked(const std::filesystem::path& path) {
  TENON_RETURN_IF_ERROR(check_absolute(path));
  platform::TrustedWalk walk(path);
  TENON_TRY(const auto held, walk.hold_directories(path.parent_path()));
  return walk.open_last();
}

}  // namespace detail

Result<OpenedFile> open_file(const std::filesystem::path& path, Trust trust) {
  return trust == Trust::checked ? detail::open_checked(path) : open_named_file(path);
}

Result<Directory> Directory::open(const std::filesystem::path& path) {
  TENON_RETURN_IF_ERROR(check_absolute(path));
  Directory directory;
  directory.path_ = path;
  TENON_TRY(directory.held_, platform::TrustedWalk(path).hold_directories(path));
  return directory;
}

Result<std::vector<std::string>> Directory::list() const { return list_directory(path_); }

Result<OpenedFile> Directory::open_file(const std::string& name) const {
  const std::filesystem::path path = path_ / path_of(name);
  return platform::TrustedWalk(path).open_last();
}

}}}  // namespace tenon::TENON_RELEASE::host
