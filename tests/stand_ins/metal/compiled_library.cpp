// SPDX-License-Identifier: MIT
#include "compiled_library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "threadgroup.hpp"

extern char** environ;

namespace tenon::metal_stand_in {

namespace {

/// A folder of this process alone, removed with all that is in it.
class PrivateFolder {
 public:
  PrivateFolder() : path_(std::filesystem::temp_directory_path() / "tenon-metal-XXXXXX") {
    std::string text = path_.string();
    made_ = ::mkdtemp(text.data()) != nullptr;
    path_ = text;
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder() {
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

/// Runs the compiler; its messages go to `messages`.
Status run_compiler(const std::string& source, const std::string& library,
                    const std::string& messages) {
  std::vector<std::string> words = {TENON_STAND_IN_CLANG, "-x", "c++", "-std=c++20", "-O1", "-fPIC",
                                    "-shared", "-w", "-ffp-contract=off",
                                    // Literals are float, as in Metal.
                                    "-Xclang", "-cl-single-precision-constant", "-D__METAL__",
                                    "-D__METAL_VERSION__=310", "-I" TENON_STAND_IN_INCLUDE,
                                    // The backend's kernels and models include what they need; this
                                    // is for a source that includes nothing.
                                    "-include", "stand_in_metal.hpp", source, "-o", library};
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

}  // namespace

Result<std::shared_ptr<CompiledLibrary>> CompiledLibrary::compile(const std::string& source) {
  TENON_TRY(TranslatedSource translated, translate(source));
  const PrivateFolder folder;
  if (!folder.made()) return error(Error::AccessFailed, "no temporary folder");
  std::ofstream(folder / "source.metal") << translated.text;
  const std::string path = folder / "library.so";
  TENON_CHECK(run_compiler(folder / "source.metal", path, folder / "messages"));
  std::shared_ptr<CompiledLibrary> out(new CompiledLibrary);
  out->handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!out->handle_) return error(Error::AccessFailed, ::dlerror());
  auto* const host =
      static_cast<const tenon_stand_in::Host**>(::dlsym(out->handle_, "tenon_stand_in_host"));
  if (!host) return error(Error::InvalidProgram, "the library has no place for its host");
  *host = &GridRunner::host;
  out->kernels_ = std::move(translated.kernels);
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
  return out;
}

}  // namespace tenon::metal_stand_in
