// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tenon/aoti/library/elf_editor.hpp"
#include "tenon/aoti/library/model_requirements.hpp"
#include "tenon/core/elf/elf_symbols.hpp"

/// Versions of symbols that a library needs from other libraries ("memcpy@GLIBC_2.14" from
/// libc.so.6). The dynamic loader compares them before it relocates anything (glibc:
/// elf/dl-version.c, `_dl_check_map_versions`), and ends the process at a record of a library that
/// is not loaded: a record of libcudart must not stay when that library is served and not loaded.
namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// A version that a library needs of another one.
struct NeededVersion {
  std::string_view file;  ///< Refers to the library's bytes, as `name`.
  std::string_view name;
  std::uint16_t index;      ///< `DynamicSymbol::version` of the symbols that have it.
  bool is_weak;             ///< May be missing.
  std::uint64_t record_at;  ///< Offset of the file's Elf64_Verneed.
  std::uint64_t at;         ///< Offset of the version's Elf64_Vernaux.
};

/// Reads the records of DT_VERNEED. InvalidArgument when they are outside of the library, when they
/// are of a library that is not needed, or when a symbol has a version that is not among them.
[[nodiscard]] inline Result<std::vector<NeededVersion>> needed_versions(const ElfEditor& library) {
  const std::uint64_t address = library.value_of(DT_VERNEED).value_or(0);
  std::vector<NeededVersion> out;
  if (address == 0) return out;
  if (!library.value_of(DT_VERSYM)) {
    return malformed_library("it needs versions of symbols, and its symbols have none");
  }
  const bool defines_versions = library.value_of(DT_VERDEF).has_value();
  const std::unordered_set<std::string_view> files(library.needed().begin(),
                                                   library.needed().end());
  std::vector<bool> is_known(2, true);
  ElfStrings texts(library.strings());
  const FileBytes table = library.at_address(address);
  const ElfNeededVersions versions = read_needed_versions(table);
  const std::uint64_t begin = versions.all.empty() ? 0 : library.offset_of(table);
  for (const ElfNeededVersion& version : versions.all) {
    if (version.form != VER_NEED_CURRENT) {
      return malformed_library("a record of needed versions has the form ", version.form);
    }
    TENON_TRY(const std::string_view file,
              library.string(texts, version.file, "the name of a library with versions"));
    if (!files.contains(file)) {
      return malformed_library("it needs versions of ", file, ", and not that library");
    }
    TENON_TRY(const std::string_view name,
              library.string(texts, version.name, "the name of a needed version"));
    out.push_back({file, name, version.index, (version.flags & VER_FLG_WEAK) != 0,
                   begin + version.record_at, begin + version.at});
    if (version.index >= is_known.size()) is_known.resize(std::size_t{version.index} + 1);
    is_known[version.index] = true;
  }
  if (versions.outside) {
    return malformed_library("a needed version (16 bytes at address ", address + *versions.outside,
                             ") is outside its segments, or its records go round in circles");
  }
  for (const DynamicSymbol& symbol : library.symbols()) {
    const bool is_own = defines_versions && !symbol.is_undefined;
    if (!is_own && (symbol.version >= is_known.size() || !is_known[symbol.version])) {
      return malformed_library("symbol ", symbol.name, " has version ", symbol.version,
                               ", which is not among the needed ones");
    }
  }
  return out;
}

namespace detail {

/// Names of the versions that a loaded library defines. Empty when it has none.
inline std::unordered_set<std::string_view> defined_versions(const link_map& library) {
  std::uintptr_t definitions = 0;
  std::uintptr_t strings = 0;
  for (const Elf64_Dyn* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_VERDEF) definitions = entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
  }
  std::unordered_set<std::string_view> out;
  if (definitions == 0 || strings == 0) return out;
  // The loader has made some of these addresses absolute.
  if (definitions < library.l_addr) definitions += library.l_addr;
  if (strings < library.l_addr) strings += library.l_addr;
  for (std::uintptr_t next = 1; next != 0; definitions += next) {
    const auto* const record = reinterpret_cast<const Elf64_Verdef*>(definitions);
    const auto* const name = reinterpret_cast<const Elf64_Verdaux*>(definitions + record->vd_aux);
    out.insert(reinterpret_cast<const char*>(strings + name->vda_name));
    next = record->vd_next;
  }
  return out;
}

}  // namespace detail

/// Adds to `out` the versions that their library does not have, and functions with a version of
/// served libraries that `find_shim` does not find. A library that is missing, or named by a path,
/// is left out: it is in `ModelRequirements::missing_libraries`.
[[nodiscard]] inline Status find_missing_versions(const ElfEditor& library,
                                                  const std::vector<NeededVersion>& versions,
                                                  const FindShim& find_shim,
                                                  std::span<const std::string_view> served,
                                                  ModelRequirements& out) {
  std::unordered_map<std::string_view, std::vector<const NeededVersion*>> by_file;
  std::unordered_set<std::uint16_t> of_served;
  for (const NeededVersion& version : versions) {
    if (is_served(version.file, served)) {
      of_served.insert(version.index);
    } else if (version.file.find('/') == std::string_view::npos) {
      by_file[version.file].push_back(&version);
    }
  }
  for (const auto& [file, wanted] : by_file) {
    void* const handle = ::dlopen(std::string(file).c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!handle) continue;
    link_map* map = nullptr;
    if (::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map) {
      const auto defined = detail::defined_versions(*map);
      for (const NeededVersion* version : wanted) {
        if (defined.empty() || version->is_weak || defined.contains(version->name)) continue;
        out.missing_versions.push_back(concat(version->name, " of ", file));
      }
    }
    ::dlclose(handle);
  }
  std::ranges::sort(out.missing_versions);
  for (const DynamicSymbol& symbol : library.symbols()) {
    if (symbol.is_undefined && !symbol.is_weak && of_served.contains(symbol.version) &&
        !find_shim(symbol.name)) {
      out.missing_functions.emplace_back(symbol.name);
    }
  }
  return ok();
}

/// Gives the records of libraries that are served, and so not loaded, to another needed library,
/// as versions that may be missing. Without one, the library needs no versions at all.
inline void release_served_versions(ElfEditor& library, const std::vector<NeededVersion>& versions,
                                    std::span<const std::string_view> served) {
  const auto kept = std::ranges::find_if_not(
      library.needed(), [&](std::string_view name) { return is_served(name, served); });
  if (kept == library.needed().end()) {
    for (std::size_t i = 0; i < library.entries().size(); ++i) {
      const std::uint64_t tag = library.entries()[i].tag;
      if (tag == DT_VERNEED || tag == DT_VERNEEDNUM) library.drop_entry(i);
    }
    return;
  }
  const std::uint64_t kept_name =
      library.needed_name(static_cast<std::size_t>(kept - library.needed().begin()));
  for (const NeededVersion& version : versions) {
    if (!is_served(version.file, served)) continue;
    auto record = library.at<Elf64_Verneed>(version.record_at);
    record.vn_file = static_cast<Elf64_Word>(kept_name);
    library.put(version.record_at, record);
    auto needed = library.at<Elf64_Vernaux>(version.at);
    needed.vna_flags |= VER_FLG_WEAK;
    library.put(version.at, needed);
  }
}

}}}  // namespace tenon::TENON_RELEASE::aoti
