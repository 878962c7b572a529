// SPDX-License-Identifier: MIT
#pragma once

#if defined(__APPLE__)
#include "tenon/aoti/library/macho_library.hpp"
#else

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstddef>
#include <new>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aoti/library/code_features.hpp"
#include "tenon/aoti/library/elf_editor.hpp"
#include "tenon/aoti/library/loader_effects.hpp"
#include "tenon/aoti/library/memory_file.hpp"
#include "tenon/aoti/library/model_requirements.hpp"
#include "tenon/aoti/library/symbol_versions.hpp"
#include "tenon/aoti/shims/thread_exit.hpp"
#include "tenon/core/bytes.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

namespace detail {

/// The std::cerr of models. A model writes each failure there that it also returns, and a plugin
/// must not write to the streams of its host. The stream has no buffer, so it discards everything.
/// Never destroyed: models may outlive the static objects of a plugin.
inline std::ostream& silent_stream() {
  alignas(std::ostream) static std::byte place[sizeof(std::ostream)];
  static auto* const stream = ::new (static_cast<void*>(place)) std::ostream(nullptr);
  return *stream;
}

}  // namespace detail

/// The library of a compiled model, loaded from bytes and bound to one backend's functions.
///
/// The bytes are copied, the symbols of the copy are edited (`ElfEditor`), and it is loaded from a
/// file without a name, which is sealed and has been compared with the copy. So each load is a
/// separate image; no other library in the process, such as libtorch, can replace the functions of
/// a model; and the image is unloaded on destruction. For that last reason unique symbols become
/// ordinary ones. Nothing is lost: a unique symbol is one object in the whole process, and no other
/// library uses a model's unique symbols. Headers by which the loader would change the process
/// outside of the library are removed or refused (`contain_loader_effects`): libraries of
/// AOTInductor ask for executable stacks.
///
/// Threads: any; the object may move between threads.
class ModelLibrary {
 public:
  /// errors: InvalidArgument when the bytes are not a library that can be loaded; NotSupported when
  /// loading it would change the process (`contain_loader_effects`); OperatorMissing with a list of
  /// everything that is missing; AccessFailed with the loader's message.
  ///
  /// `served` are libraries whose functions `find_shim` provides; the loader does not look for them
  /// (see `is_served`). `features` are those that its instructions need.
  [[nodiscard]] static Result<ModelLibrary> load(Bytes code, const FindShim& find_shim,
                                                 std::span<const std::string_view> served = {},
                                                 const CodeFeatures& features = {}) {
    std::vector<std::byte> own(code.begin(), code.end());
    TENON_TRY(const std::uint64_t extent, prepare(own, find_shim, served, features));
    TENON_TRY(MemoryFile file, MemoryFile::create(own));
    return open(std::move(file), extent);
  }

  /// Checks whether `load` would accept the bytes, without loading any of them (but see
  /// `ModelRequirements` about the libraries that they need). What the dynamic loader alone finds,
  /// only `load` reports.
  [[nodiscard]] static Status check(Bytes code, const FindShim& find_shim,
                                    std::span<const std::string_view> served = {},
                                    const CodeFeatures& features = {}) {
    std::vector<std::byte> own(code.begin(), code.end());
    auto prepared = prepare(own, find_shim, served, features);
    return prepared.ok() ? ok() : std::move(prepared).status();
  }

  ModelLibrary(ModelLibrary&& other) noexcept
      : file_(std::move(other.file_)),
        handle_(std::exchange(other.handle_, nullptr)),
        image_(other.image_) {}
  ModelLibrary& operator=(ModelLibrary&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(handle_, other.handle_);
    std::swap(image_, other.image_);
    return *this;
  }
  ~ModelLibrary() {
    if (!handle_) return;
    ThreadExit::instance().unload(image_);
    ::dlclose(handle_);
  }

  /// The function of that name and type, or null.
  template <class Function>
  [[nodiscard]] Function* function(const char* name) const noexcept {
    return reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

  /// The loaded image in memory.
  [[nodiscard]] std::span<const std::byte> image() const noexcept { return image_; }

 private:
  ModelLibrary(MemoryFile file, void* handle) noexcept : file_(std::move(file)), handle_(handle) {}

  /// Checks a library, and edits the bytes so that they can be loaded. Returns `ElfEditor::extent`.
  static Result<std::uint64_t> prepare(std::span<std::byte> own, const FindShim& find_shim,
                                       std::span<const std::string_view> served,
                                       const CodeFeatures& features) {
    TENON_TRY(ElfEditor editor, ElfEditor::open(own));
    TENON_RETURN_IF_ERROR(contain_loader_effects(editor));
    TENON_TRY(const std::vector<NeededVersion> versions, needed_versions(editor));
    TENON_TRY(ModelRequirements requirements,
              check_requirements(editor, find_shim, &cpu_supports, served, features));
    TENON_RETURN_IF_ERROR(find_missing_versions(editor, versions, find_shim, served, requirements));
    if (!requirements.met()) return error(Error::OperatorMissing, requirements.text());
    TENON_RETURN_IF_ERROR(bind_symbols(editor, find_shim));
    release_served_versions(editor, versions, served);
    for (std::size_t i = 0; i < editor.needed().size(); ++i) {
      if (is_served(editor.needed()[i], served)) editor.drop_needed(i);
    }
    return editor.extent();
  }

  static Status bind_symbols(ElfEditor& editor, const FindShim& find_shim) {
    for (const DynamicSymbol& symbol : editor.symbols()) {
      if (!symbol.is_undefined) {
        // Mostly templates of the standard library, which a libtorch loaded earlier has, too.
        if (symbol.is_unique || symbol.is_weak) editor.make_own(symbol);
        continue;
      }
      if (symbol.name == "_ZSt4cerr") {
        editor.bind(symbol, &detail::silent_stream());
      } else if (const void* address = find_shim(shim_name(symbol.name))) {
        editor.bind(symbol, address);
      }
    }
    return ok();
  }

  static Result<ModelLibrary> open(MemoryFile file, std::uint64_t extent) {
    const std::string path = file.path();
    // RTLD_NOW, so that a missing function is an error here and not at the first call.
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* reason = ::dlerror();
      // The loader's own words are about a file of that name.
      if (::access(path.c_str(), F_OK) != 0) {
        return error(Error::AccessFailed, "cannot load the model's library: ",
                     "the dynamic loader opens a file in memory by its name in /proc, and ", path,
                     " is not there: expected /proc to be mounted");
      }
      return error(Error::AccessFailed, "cannot load the model's library: ",
                   std::string_view(reason ? reason : "no reason given"));
    }
    ModelLibrary out(std::move(file), handle);
    link_map* map = nullptr;
    if (::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map) {
      out.image_ = {reinterpret_cast<const std::byte*>(map->l_addr),
                    static_cast<std::size_t>(extent)};
    }
    return out;
  }

  MemoryFile file_;
  void* handle_;
  std::span<const std::byte> image_;
};

}}}  // namespace tenon::TENON_RELEASE::aoti

#endif
