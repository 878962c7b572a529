// SPDX-License-Identifier: MIT
#include "create.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/host/loader/program/file_header.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/platform/list_directory.hpp"
#include "tenon/host/platform/new_file.hpp"
#include "tenon/host/platform/normal_path.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/read_file.hpp"
#include "tenon/host/platform/signals_blocked.hpp"
#include "tenon/host/schema/program_objects_generated.h"

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

constexpr std::size_t header_at = 8;  // Behind the root's offset and the file identifier.
constexpr std::uint32_t header_size = 32;

template <class Number>
void put(std::vector<std::byte>& bytes, std::size_t at, Number number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

/// The flatbuffer with an extended header in it, and behind it `segments`, which began at
/// `old_base`: they keep the alignment that they had there.
std::vector<std::byte> put_together(std::span<const std::byte> flatbuffer,
                                    std::span<const std::byte> segments, std::uint64_t old_base) {
  std::vector<std::byte> out(flatbuffer.begin(), flatbuffer.end());
  if (segments.empty()) return out;
  out.insert(out.begin() + header_at, header_size, std::byte{});
  const std::uint64_t program_size = out.size();
  const std::size_t alignment = std::size_t{1} << std::min(std::countr_zero(old_base), 12);
  out.resize((out.size() + alignment - 1) / alignment * alignment);
  const std::uint64_t base = out.size();
  out.insert(out.end(), segments.begin(), segments.end());

  std::uint32_t root = 0;
  std::memcpy(&root, out.data(), sizeof root);
  put(out, 0, root + header_size);
  std::memcpy(out.data() + header_at, "eh00", 4);
  put(out, header_at + 4, header_size);
  put(out, header_at + 8, program_size);
  put(out, header_at + 16, base);
  put(out, header_at + 24, std::uint64_t{segments.size()});
  return out;
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

Result<std::vector<std::byte>> rename_backends(
    std::span<const std::byte> file, const std::function<std::string(std::string_view)>& rename) {
  // Programs are read in place, from an address that suits their largest elements.
  struct alignas(16) Block {
    std::byte bytes[16];
  };
  auto blocks = std::make_shared<std::vector<Block>>(file.size() / sizeof(Block) + 1);
  const std::span<std::byte> aligned(blocks->front().bytes, file.size());
  std::ranges::copy(file, aligned.begin());
  TENON_RETURN_IF_ERROR(host::Program::from_bytes(aligned, blocks, "program"));
  TENON_TRY(const auto parts, host::detail::read_program_header(FileBytes(file), file.size()));

  const std::unique_ptr<schema::objects::ProgramT> unpacked(
      schema::objects::GetProgram(aligned.data())->UnPack());
  for (const auto& plan : unpacked->execution_plan) {
    for (const auto& delegate : plan->delegates) delegate->id = rename(delegate->id);
  }
  flatbuffers::FlatBufferBuilder builder;
  schema::objects::FinishProgramBuffer(builder,
                                       schema::objects::CreateProgram(builder, unpacked.get()));
  return put_together(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())),
                      file.subspan(static_cast<std::size_t>(parts.segment_base),
                                   static_cast<std::size_t>(parts.segment_size)),
                      parts.segment_base);
}

}  // namespace tenon::make_new
