// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/mount.h>
#endif

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "models.hpp"
#include "support/catch.hpp"
#include "support/rounds.hpp"
#include "support/temporary_directory.hpp"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::aoti;
using namespace tenon::test;

namespace {

/// Lines of this process's mappings that show a model.
std::size_t num_model_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find("tenon-aoti-model") != std::string::npos;
  }
  return count;
}

Result<ModelLibrary> load(const std::string& name) {
  return ModelLibrary::load(stand_in(name).bytes(), &find_host_shim);
}

/// Makes the model's thread-local text on this thread.
void touch_thread_local(const ModelLibrary& library) {
  const char* text = nullptr;
  auto* const get = library.function<RuntimeError(const char**)>("AOTInductorGetLastError");
  REQUIRE(get);
  CHECK(get(&text) == 0);
}

}  // namespace

TEST_CASE("a model is loaded, bound to the backend's shims, and unloaded on destruction",
          "[aoti]") {
  const std::size_t before = num_model_mappings();
  {
    const auto library = load("good");
    INFO(library.text());
    REQUIRE(library.ok());
    CHECK(library->function<int()>("AOTInductorModelContainerRun") != nullptr);
    CHECK(library->function<int()>("AOTInductorModelNothing") == nullptr);
    CHECK(num_model_mappings() > before);
  }
  CHECK(num_model_mappings() == before);
}

#if defined(__linux__)
TEST_CASE("without /proc a model's library is refused with that reason", "[aoti]") {
  const ::pid_t child = ::fork();
  if (child == 0) {
    // Of a mount namespace of its own, which takes rights that a container may not have.
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::umount2("/proc", MNT_DETACH) != 0) {
      ::_exit(77);
    }
    const auto library = load("good");
    const std::string text(library.text());
    ::_exit(library.error() == Error::AccessFailed &&
                    text.find("expected /proc to be mounted") != std::string::npos
                ? 0
                : 1);
  }
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) {
    WARN("this process may not have a mount namespace of its own, so that nothing is tested here");
    return;
  }
  CHECK(WEXITSTATUS(status) == 0);
}
#endif

TEST_CASE("a thread-local object of the model does not keep it in memory", "[aoti]") {
  const std::size_t before = num_model_mappings();
  {
    const auto library = load("good");
    REQUIRE(library.ok());
    touch_thread_local(*library);
    std::thread([&] { touch_thread_local(*library); }).join();
  }
  CHECK(num_model_mappings() == before);
}

TEST_CASE("a thread that outlives the model may have used its thread-local objects", "[aoti]") {
  const std::size_t before = num_model_mappings();
  std::mutex mutex;
  std::condition_variable changed;
  int stage = 0;
  const auto reach = [&](int next) {
    const std::lock_guard lock(mutex);
    stage = next;
    changed.notify_all();
  };
  const auto wait_for = [&](int wanted) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stage >= wanted; });
  };
  std::thread other;
  {
    const auto library = load("good");
    REQUIRE(library.ok());
    other = std::thread([&, get = &*library] {
      touch_thread_local(*get);
      reach(1);
      wait_for(2);
    });
    wait_for(1);
  }
  CHECK(num_model_mappings() == before);
  reach(2);
  other.join();
}

TEST_CASE("a thousand loads leave no mapping and no descriptor behind", "[aoti]") {
  const auto once = [] {
    const auto library = load("good");
    REQUIRE(library.ok());
    touch_thread_local(*library);
  };
  once();
  const Footprint before = Footprint::now();
  for (int i = 0; i < rounds(1000); ++i) once();
  const Footprint after = Footprint::now();
  CHECK(after.mappings == before.mappings);
  CHECK(after.descriptors == before.descriptors);
}

TEST_CASE("two loads of the same bytes are two images", "[aoti]") {
  const auto first = load("good");
  const auto second = load("good");
  REQUIRE((first.ok() && second.ok()));
  CHECK(first->image().data() != second->image().data());
}

TEST_CASE("all missing functions of a model are listed before it is loaded", "[aoti]") {
  const std::size_t before = num_model_mappings();
  const auto library = load("asks_for_nothing");
  CHECK(library.error() == Error::OperatorMissing);
  CHECK_THAT(std::string(library.text()),
             ContainsSubstring("1 operator: that_nobody_has (aoti_torch_cpu_that_nobody_has)"));
  CHECK_THAT(std::string(library.text()), ContainsSubstring("docs/aoti/operators.md"));
  const auto all = ModelLibrary::load(stand_in("good").bytes(),
                                      [](std::string_view) -> const void* { return nullptr; });
  CHECK_THAT(std::string(all.text()), ContainsSubstring("aoti_torch_empty_strided, ") &&
                                          ContainsSubstring("aoti_torch_check"));
  CHECK(num_model_mappings() == before);
}

TEST_CASE("what a model lacks is listed by operator, with what avoids it", "[aoti]") {
  ModelRequirements requirements;
  requirements.missing_functions = {"aoti_torch_cpu__fft_r2c", "aoti_torch_cuda_cat",
                                    "aoti_torch_new_uninitialized_tensor",
                                    "aoti_torch_proxy_executor_call_function"};
  const std::string text = requirements.text();
  CHECK_THAT(text, ContainsSubstring("2 operators: _fft_r2c (aoti_torch_cpu__fft_r2c), "
                                     "cat (aoti_torch_cuda_cat); 2 functions: "
                                     "aoti_torch_new_uninitialized_tensor, "));
  CHECK_THAT(text, ContainsSubstring("decomposed when the model is exported (run_decompositions)"));
  requirements.missing_functions = {"aoti_torch_get_sizes"};
  CHECK(requirements.text() ==
        "the model needs what is missing here: 1 function: aoti_torch_get_sizes");
  requirements.missing_functions = {"aoti_torch_cuda__scaled_mm", "aoti_torch_dtype_float8_e8m0fnu",
                                    "executorch_aoti_torch_dtype_float4_e2m1fn_x2",
                                    "aoti_torch_dtype_of_tomorrow"};
  CHECK_THAT(requirements.text(),
             ContainsSubstring("1 operator: _scaled_mm (aoti_torch_cuda__scaled_mm); 2 element "
                               "types: float8_e8m0fnu (aoti_torch_dtype_float8_e8m0fnu), "
                               "float4_e2m1fn_x2 (executorch_aoti_torch_dtype_float4_e2m1fn_x2); "
                               "1 function: aoti_torch_dtype_of_tomorrow; MX and NVFP4 weights"));
  CHECK(aoti::operator_of("aoti_torch_mps_mm_out") == "mm_out");
  CHECK(aoti::operator_of("aoti_torch_get_sizes").empty());
}

TEST_CASE("a model whose shims have a private prefix binds to the same functions", "[aoti]") {
  CHECK(shim_name("executorch_aoti_torch_get_sizes") == "aoti_torch_get_sizes");
  for (const char* other : {"aoti_torch_get_sizes", "executorch_", "executorch_get_sizes",
                            "executorch_aoti_torch", "my_executorch_aoti_torch_get_sizes", ""}) {
    CHECK(shim_name(other) == other);
  }
  CHECK(operator_of("executorch_aoti_torch_cpu_mm_out") == "mm_out");
  const auto library = load("has_private_prefix");
  INFO(library.text());
  REQUIRE(library.ok());
  // What is missing is reported with the name that the model has for it.
  const auto missing = load("has_private_prefix_and_asks_for_nothing");
  CHECK(missing.error() == Error::OperatorMissing);
  CHECK_THAT(
      std::string(missing.text()),
      ContainsSubstring("1 operator: that_nobody_has (executorch_aoti_torch_cpu_that_nobody_has)"));
}

TEST_CASE("missing CPU features are reported", "[aoti]") {
  AlignedBytes file = stand_in("good");
  const auto editor = ElfEditor::open(file.bytes());
  REQUIRE(editor.ok());
  ModelRequirements requirements;
  const DynamicSymbol wide{1, "Sleef_expf16_u10", true, false, false, false};
  for (const auto feature : aoti::detail::features_used(0, {&wide, 1})) {
    requirements.missing_cpu_features.emplace_back(feature);
  }
  CHECK_THAT(requirements.text(), ContainsSubstring("6 CPU features: avx2, fma, avx512f"));
  const DynamicSymbol narrow{1, "Sleef_expf8_u10", true, false, false, false};
  CHECK(aoti::detail::features_used(0, {&narrow, 1}).size() == 2);
  CHECK(aoti::detail::features_used(8, {}).size() == 6);
  CHECK(aoti::detail::features_used(1, {}).empty());
}

TEST_CASE("a missing library that the model needs is named", "[aoti]") {
  AlignedBytes file = stand_in("good");
  // The name is in the string table; another one of the same length is still well formed.
  const std::string_view wanted = "libc.so.6";
  const auto bytes = file.bytes();
  const std::string_view text = as_text(bytes);
  const std::size_t at = text.find(std::string(wanted) + '\0');
  REQUIRE(at != std::string_view::npos);
  bytes[at + 3] = std::byte{'Q'};
  const auto library = ModelLibrary::load(bytes, &find_host_shim);
  CHECK(library.error() == Error::OperatorMissing);
  CHECK_THAT(std::string(library.text()), ContainsSubstring("1 needed library: libQ.so.6"));
}

TEST_CASE("a library that the model needs by a path is not opened", "[aoti]") {
  AlignedBytes file = stand_in("good");
  const TemporaryDirectory directory;
  // As long as the name that it replaces.
  const std::string_view wanted = "libc.so.6", path = "./libc.so";
  ::Dl_info libc{};
  REQUIRE(::dladdr(::dlsym(RTLD_NEXT, "getpid"), &libc) != 0);
  std::filesystem::create_symlink(std::filesystem::canonical(libc.dli_fname),
                                  directory / "libc.so");
  const auto bytes = file.bytes();
  const std::size_t at = as_text(bytes).find(std::string(wanted) + '\0');
  REQUIRE(at != std::string_view::npos);
  std::ranges::copy(std::as_bytes(std::span(path)),
                    bytes.begin() + static_cast<std::ptrdiff_t>(at));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  void* const found = ::dlopen("./libc.so", RTLD_LAZY);
  const Status checked = ModelLibrary::check(bytes, &find_host_shim);
  const auto library = ModelLibrary::load(bytes, &find_host_shim);
  std::filesystem::current_path(before);
  REQUIRE(found != nullptr);
  ::dlclose(found);
  for (const std::string_view text : {checked.text(), library.text()}) {
    CHECK_THAT(std::string(text), ContainsSubstring("1 needed library: ./libc.so"));
  }
  CHECK(checked.error() == Error::OperatorMissing);
  CHECK(library.error() == Error::OperatorMissing);
}

TEST_CASE("a model is loaded on systems without memory files", "[aoti]") {
  const std::string content(4096, 'x');
  const auto file =
      MemoryFile::create(std::as_bytes(std::span(content)), MemoryFile::Kind::unlinked);
  INFO(file.text());
  REQUIRE(file.ok());
  CHECK(std::filesystem::exists(file->path()));
  std::ifstream again(file->path(), std::ios::binary);
  CHECK(again.get() == 'x');
  // It has no name in any directory.
  CHECK(std::filesystem::read_symlink(file->path()).native().find("(deleted)") !=
        std::string::npos);
  CHECK(file->path() != file->path());
}

TEST_CASE("a sealed library cannot be written to before it is loaded", "[aoti]") {
  const std::vector<std::byte> content(4096);
  const auto file = MemoryFile::create(content, MemoryFile::Kind::memory);
  REQUIRE(file.ok());
  std::ofstream writer(file->path(), std::ios::binary | std::ios::in);
  writer << "changed";
  writer.close();
  CHECK(writer.fail());
}
