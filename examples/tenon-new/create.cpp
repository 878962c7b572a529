// SPDX-License-Identifier: MIT
#include "create.hpp"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "program_ids.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/files/new_file.hpp"
#include "tenon/host/files/signals_blocked.hpp"

namespace tenon::make_new {
namespace {

namespace fs = std::filesystem;

/// A folder that is removed with all that is in it, unless it got its final name.
class UnfinishedFolder {
 public:
  /// Makes a directory next to `to` for this process alone.
  static Result<UnfinishedFolder> make(const fs::path& to) {
    for (int number = 0;; ++number) {
      fs::path path =
          to.parent_path() / concat(".", to.filename().native(), ".", ::getpid(), ".", number);
      std::error_code failure;
      if (fs::create_directory(path, failure)) return UnfinishedFolder(std::move(path));
      if (failure) {
        return error(Error::AccessFailed, to.native(), ": cannot be made: ", failure.message());
      }
    }
  }

  UnfinishedFolder(UnfinishedFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  UnfinishedFolder& operator=(UnfinishedFolder&&) = delete;
  ~UnfinishedFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  [[nodiscard]] const fs::path& path() const noexcept { return path_; }

  Status finish(const fs::path& to) && {
    std::error_code failure;
    fs::rename(path_, to, failure);
    if (failure) return error(Error::AccessFailed, to.native(), ": ", failure.message());
    path_.clear();
    return ok();
  }

 private:
  explicit UnfinishedFolder(fs::path path) noexcept : path_(std::move(path)) {}
  fs::path path_;
};

Result<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string out(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad()) {
    return error(Error::AccessFailed, path.native(), ": cannot be read");
  }
  return out;
}

Result<std::string> renamed_contents(const fs::path& path, const Names& names) {
  TENON_TRY(std::string contents, read_file(path));
  if (path.extension() == ".pte") {
    auto renamed = rename_backends(std::as_bytes(std::span(contents)), [&](std::string_view id) {
      return rename(id, placeholder(), names);
    });
    if (!renamed.ok()) return std::move(renamed).status().with_context(path.native());
    return std::string(reinterpret_cast<const char*>(renamed->data()), renamed->size());
  }
  const bool is_text = contents.find('\0') == std::string::npos;
  return is_text ? rename(contents, placeholder(), names) : std::move(contents);
}

Status copy_file(const fs::path& from, const fs::path& to, const Names& names) {
  TENON_TRY(const std::string contents, renamed_contents(from, names));
  TENON_RETURN_IF_ERROR(host::write_file(to, {std::as_bytes(std::span(contents))}));
  std::error_code failure;
  constexpr auto run = fs::perms::owner_exec;
  if ((fs::status(from, failure).permissions() & run) != run) return ok();
  fs::permissions(to, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                  fs::perm_options::add, failure);
  if (failure) return error(Error::AccessFailed, to.native(), ": ", failure.message());
  return ok();
}

Result<std::size_t> copy_folder(const fs::path& from, const fs::path& to, const Names& names) {
  std::size_t num_files = 0;
  std::error_code failure;
  for (fs::directory_iterator at(from, failure), end; !failure && at != end;
       at.increment(failure)) {
    const fs::path target = to / rename(at->path().filename().native(), placeholder(), names);
    std::error_code unknown;
    const fs::file_status status = at->symlink_status(unknown);
    if (fs::is_directory(status)) {
      std::error_code refused;
      if (!fs::create_directory(target, refused)) {
        return error(Error::AccessFailed, target.native(), ": cannot be made: ", refused.message());
      }
      TENON_TRY(const std::size_t inside, copy_folder(at->path(), target, names));
      num_files += inside;
    } else if (fs::is_regular_file(status)) {
      TENON_RETURN_IF_ERROR(copy_file(at->path(), target, names));
      ++num_files;
    } else {
      return error(Error::NotSupported, at->path().native(),
                   ": expected a file or a folder in a template");
    }
  }
  if (failure) return error(Error::AccessFailed, from.native(), ": ", failure.message());
  return num_files;
}

}  // namespace

Result<std::size_t> create(const fs::path& from, const fs::path& to, const Names& names) {
  std::error_code failure;
  if (fs::exists(fs::symlink_status(to, failure))) {
    return error(Error::InvalidArgument, to.native(), ": exists already; nothing was changed");
  }
  if (!fs::is_directory(to.parent_path(), failure)) {
    return error(Error::InvalidArgument, to.parent_path().native(), ": there is no such folder");
  }
  const host::SignalsBlocked blocked;  // Would leave the unfinished folder.
  TENON_TRY(auto unfinished, UnfinishedFolder::make(to));
  TENON_TRY(const std::size_t num_files, copy_folder(from, unfinished.path(), names));
  TENON_RETURN_IF_ERROR(std::move(unfinished).finish(to));
  return num_files;
}

}  // namespace tenon::make_new
