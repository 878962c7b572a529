// SPDX-License-Identifier: MIT
#include "create.hpp"

#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "program_ids.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/files/list_directory.hpp"
#include "tenon/host/files/new_file.hpp"
#include "tenon/host/files/read_file.hpp"
#include "tenon/host/platform/normal_path.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/signals_blocked.hpp"

namespace tenon::make_new {
namespace {

namespace fs = std::filesystem;
using host::path_of;
using host::path_text;

/// A directory that is removed with what was made in it, unless it got its final name.
class UnfinishedDirectory {
 public:
  /// Makes a directory next to `to` for this process alone.
  static Result<UnfinishedDirectory> make(const fs::path& to) {
    for (int number = 0;; ++number) {
      UnfinishedDirectory out;
      const std::string name = concat(".", path_text(to.filename()), ".", number);
      const fs::path path = out.made_.emplace_back(to.parent_path() / path_of(name));
      std::error_code failure;
      if (fs::create_directory(path, failure)) return Result<UnfinishedDirectory>(std::move(out));
      out.made_.clear();  // Another process has it, or left it.
      if (failure) {
        return error(Error::AccessFailed, path_text(to), ": cannot be made: ", failure.message());
      }
    }
  }

  UnfinishedDirectory(UnfinishedDirectory&&) noexcept = default;
  UnfinishedDirectory& operator=(UnfinishedDirectory&&) = delete;
  ~UnfinishedDirectory() {
    // One by one: looking into directories takes memory and a descriptor, and may be what failed.
    std::error_code ignored;
    for (auto path = made_.rbegin(); path != made_.rend(); ++path) fs::remove(*path, ignored);
  }

  [[nodiscard]] fs::path path() const { return made_.front(); }

  Status make_directory(const fs::path& path) {
    made_.push_back(path);
    std::error_code failure;
    if (fs::create_directory(path, failure)) return ok();
    return error(Error::AccessFailed, path_text(path), ": cannot be made: ", failure.message());
  }

  Status write(const fs::path& path, std::string_view contents) {
    made_.push_back(path);
    return host::write_file(path, {std::as_bytes(std::span(contents))});
  }

  Status finish(const fs::path& to) && {
    std::error_code failure;
    fs::rename(path(), to, failure);
    if (failure) return error(Error::AccessFailed, path_text(to), ": ", failure.message());
    made_.clear();
    return ok();
  }

 private:
  UnfinishedDirectory() = default;
  std::vector<fs::path> made_;  ///< The directory, and then each file and directory in it.
};

Result<std::string> renamed_contents(const fs::path& path, const Names& names) {
  TENON_TRY(std::string contents, host::read_file(path));
  if (path.extension() == ".pte") {
    auto renamed = rename_backends(std::as_bytes(std::span(contents)), [&](std::string_view id) {
      return rename(id, placeholder(), names);
    });
    if (!renamed.ok()) return std::move(renamed).status().with_context(path_text(path));
    return std::string(reinterpret_cast<const char*>(renamed->data()), renamed->size());
  }
  const bool is_text = contents.find('\0') == std::string::npos;
  return is_text ? rename(contents, placeholder(), names) : std::move(contents);
}

Status copy_file(const fs::path& from, const fs::path& to, const Names& names,
                 UnfinishedDirectory& unfinished) {
  TENON_TRY(const std::string contents, renamed_contents(from, names));
  TENON_RETURN_IF_ERROR(unfinished.write(to, contents));
  std::error_code failure;
  constexpr auto run = fs::perms::owner_exec;
  if ((fs::status(from, failure).permissions() & run) != run) return ok();
  fs::permissions(to, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                  fs::perm_options::add, failure);
  if (failure) return error(Error::AccessFailed, path_text(to), ": ", failure.message());
  return ok();
}

/// The file that `reference` names by its path in the directory of templates. Two templates share
/// a file by it.
Result<fs::path> shared_file(const fs::path& reference, const fs::path& templates) {
  TENON_TRY(const std::string text, host::read_file(reference));
  const std::string line = text.substr(0, text.find_first_of("\r\n"));
  const fs::path inside = host::normal_path(path_of(line));
  std::error_code unknown;
  const bool leads_out = inside.empty() || inside.has_root_path() || *inside.begin() == "..";
  if (leads_out || !fs::is_regular_file(fs::symlink_status(templates / inside, unknown))) {
    return error(Error::NotSupported, path_text(reference),
                 ": expected the path of a file of a template, found '", line, "'");
  }
  return templates / inside;
}

Result<std::size_t> copy_directory(const fs::path& from, const fs::path& to, const Names& names,
                                   const fs::path& templates, UnfinishedDirectory& unfinished) {
  std::size_t num_files = 0;
  TENON_TRY(const std::vector<std::string> found, host::list_directory(from));
  for (const std::string& name : found) {
    fs::path source = from / path_of(name);
    fs::path target = to / path_of(rename(name, placeholder(), names));
    std::error_code unknown;
    const fs::file_status status = fs::symlink_status(source, unknown);
    if (fs::is_directory(status)) {
      TENON_RETURN_IF_ERROR(unfinished.make_directory(target));
      TENON_TRY(const std::size_t inside,
                copy_directory(source, target, names, templates, unfinished));
      num_files += inside;
    } else if (fs::is_regular_file(status)) {
      if (source.extension() == ".from") {
        TENON_TRY(source, shared_file(source, templates));
        target.replace_extension();
      }
      TENON_RETURN_IF_ERROR(copy_file(source, target, names, unfinished));
      ++num_files;
    } else {
      return error(Error::NotSupported, path_text(source),
                   ": expected a file or a directory in a template");
    }
  }
  return num_files;
}

}  // namespace

Result<std::size_t> create(const fs::path& from, const fs::path& to, const Names& names) {
  std::error_code failure;
  if (fs::exists(fs::symlink_status(to, failure))) {
    return error(Error::InvalidArgument, path_text(to), ": exists already; nothing was changed");
  }
  if (!fs::is_directory(to.parent_path(), failure)) {
    return error(Error::InvalidArgument, path_text(to.parent_path()),
                 ": there is no such directory");
  }
  const host::SignalsBlocked blocked;  // Would leave the unfinished directory.
  TENON_TRY(auto unfinished, UnfinishedDirectory::make(to));
  TENON_TRY(const std::size_t num_files,
            copy_directory(from, unfinished.path(), names, from.parent_path(), unfinished));
  TENON_RETURN_IF_ERROR(std::move(unfinished).finish(to));
  return num_files;
}

}  // namespace tenon::make_new
