// SPDX-License-Identifier: MIT
#include "compiled_library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <memory>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <system_error>

#include "tenon/core/concat.hpp"
#include "threadgroup.hpp"

extern char** environ;

namespace tenon::metal_stand_in {

namespace {

/// A private directory, removed with its contents on destruction.
class PrivateDirectory {
 public:
  PrivateDirectory() : path_(std::filesystem::temp_directory_path() / "tenon-metal-XXXXXX") {
    std::string text = path_.string();
    made_ = ::mkdtemp(text.data()) != nullptr;
    path_ = text;
  }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  ~PrivateDirectory() {
    std::error_code ignored;
    if (made_) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
  bool made_ = false;
};

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

const char* header_of(bool counts) {
  return counts ? "stand_in_counting.hpp" : "stand_in_metal.hpp";
}

/// Bytes of the variables that each thread of this process has of its own in a library: what
/// `translate` makes of threadgroup variables.
std::uint64_t threadgroup_nbytes(void* handle) {
  struct Search {
    ElfW(Addr) address;
    std::uint64_t found;
  };
  const link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return 0;
  Search search{map->l_addr, 0};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        Search& wanted = *static_cast<Search*>(data);
        if (info->dlpi_addr != wanted.address) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type == PT_TLS) wanted.found = info->dlpi_phdr[i].p_memsz;
        }
        return 1;
      },
      &search);
  return search.found;
}

/// Runs the compiler, with its messages in the file `messages`.
Status run_compiler(const std::string& source, const std::string& library,
                    const std::string& messages, bool counts) {
  std::vector<std::string> words = {TENON_STAND_IN_CLANG, "-x", "c++", "-std=c++20", "-O1", "-fPIC",
                                    "-shared", "-w", "-ffp-contract=off",
                                    // Literals are float, as in Metal.
                                    "-Xclang", "-cl-single-precision-constant", "-D__METAL__",
                                    "-D__METAL_VERSION__=310", "-I" TENON_STAND_IN_INCLUDE,
                                    // The backend's kernels and models include what they need; this
                                    // is for a source that includes nothing.
                                    "-include", header_of(counts), source, "-o", library};
  if (counts) {
    words.insert(words.end() - 3,
                 {"-fsanitize=thread", "-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm",
                  "-tsan-instrument-read-before-write=1"});
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 2, messages.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t child = 0;
  const int failed =
      ::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    return error(Error::AccessFailed, "cannot run " TENON_STAND_IN_CLANG ": ",
                 std::generic_category().message(failed));
  }
  int outcome = 0;
  while (::waitpid(child, &outcome, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0) return ok();
  const std::string text = read(messages);
  constexpr std::size_t most = 2000;
  return error(Error::InvalidProgram,
               "the Metal source does not compile: ", std::string_view(text).substr(0, most));
}

/// The cache of compiled libraries, of all processes, as Metal has it: without it, judging a
/// plugin in a thousand processes would compile the same kernels a thousand times. An entry is a
/// library and the source that it was made from; the source is written last.
class Cache {
 public:
  Cache(const std::string& text, bool counts) : text_(text) {
    std::error_code failed;
    std::filesystem::file_time_type newest;
    for (const auto& header :
         std::filesystem::recursive_directory_iterator(TENON_STAND_IN_INCLUDE, failed)) {
      newest = std::max(newest, header.last_write_time(failed));
    }
    // The headers are part of what was compiled.
    const std::string stamp = std::to_string(newest.time_since_epoch().count());
    name_ = std::to_string(
        std::hash<std::string>()(stamp + TENON_STAND_IN_CLANG + header_of(counts) + text));
  }

  [[nodiscard]] std::string library() const { return entry(".so"); }
  [[nodiscard]] bool has_library() const {
    return read(entry(".metal")) == text_ && std::filesystem::exists(library());
  }
  /// Keeps `library`, if that can be done.
  void keep(const std::string& library) const {
    std::error_code failed;
    std::filesystem::create_directories(TENON_STAND_IN_CACHE, failed);
    const std::string unfinished = entry(concat(".", std::to_string(::getpid())));
    std::filesystem::copy_file(library, unfinished, failed);
    if (!failed) std::filesystem::rename(unfinished, entry(".so"), failed);
    if (failed) return;
    std::ofstream(unfinished) << text_;
    std::filesystem::rename(unfinished, entry(".metal"), failed);
  }

 private:
  [[nodiscard]] std::string entry(const std::string& ending) const {
    return TENON_STAND_IN_CACHE "/" + name_ + ending;
  }

  const std::string& text_;
  std::string name_;
};

}  // namespace

Result<std::shared_ptr<CompiledLibrary>> CompiledLibrary::compile(const std::string& source,
                                                                  bool counts) {
  TENON_TRY(TranslatedSource translated, translate(source));
  const PrivateDirectory directory;
  if (!directory.made()) return error(Error::AccessFailed, "no temporary directory");
  const Cache cache(translated.text, counts);
  std::string path = cache.library();
  if (!cache.has_library()) {
    std::ofstream(directory / "source.metal") << translated.text;
    path = directory / "library.so";
    TENON_RETURN_IF_ERROR(
        run_compiler(directory / "source.metal", path, directory / "messages", counts));
    cache.keep(path);
  }
  std::shared_ptr<CompiledLibrary> out(new CompiledLibrary);
  out->handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!out->handle_) return error(Error::AccessFailed, ::dlerror());
  auto* const host =
      static_cast<const tenon_stand_in::Host**>(::dlsym(out->handle_, "tenon_stand_in_host"));
  if (!host) return error(Error::InvalidProgram, "the library has no place for its host");
  *host = &GridRunner::host;
  out->kernels_ = std::move(translated.kernels);
  out->threadgroup_nbytes_ = threadgroup_nbytes(out->handle_);
  return out;
}

CompiledLibrary::~CompiledLibrary() {
  if (handle_) ::dlclose(handle_);
}

Result<CompiledKernel> CompiledLibrary::kernel(const std::string& name) const {
  const auto entry = std::ranges::find(kernels_, name, &KernelEntry::name);
  if (entry == kernels_.end()) {
    return error(Error::NotFound, "the Metal source has no kernel '", std::string_view(name), "'");
  }
  CompiledKernel out;
  out.run = reinterpret_cast<tenon_stand_in::Kernel>(
      ::dlsym(handle_, ("tenon_stand_in_run_" + name).c_str()));
  if (!out.run) return error(Error::InvalidProgram, ::dlerror());
  out.num_buffers = entry->num_buffers;
  out.max_threads = entry->max_threads;
  out.threadgroup_nbytes = threadgroup_nbytes_;
  return out;
}

}  // namespace tenon::metal_stand_in
