// SPDX-License-Identifier: MIT
#pragma once

#include <malloc.h>
#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/temporary_directory.hpp"
#include "tenon/host/layers/trust/impl/library.hpp"

namespace tenon::test {

/// Whether a file with this name (without its directory) is mapped into this process.
inline bool is_mapped(std::string_view file_name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with("/" + std::string(file_name))) return true;
  }
  return false;
}

/// Whether a library that was loaded and released is not mapped, or the dynamic loader keeps what
/// it loaded once.
inline bool unloaded(std::string_view file_name) {
  return !is_mapped(file_name) || !host::detail::loader_unloads;
}

/// Watches for a library that must not be loaded. An earlier test may have loaded it, where the
/// dynamic loader keeps it.
class LoadWatch {
 public:
  explicit LoadWatch(std::string file_name)
      : file_name_(std::move(file_name)), was_mapped_(is_mapped(file_name_)) {}

  /// Whether it was loaded, and is mapped, since this object was made.
  [[nodiscard]] bool is_loaded() const { return !was_mapped_ && is_mapped(file_name_); }

 private:
  std::string file_name_;
  bool was_mapped_;
};

/// The resources that a process could leak at each load.
struct Footprint {
  std::size_t mappings = 0;
  std::size_t descriptors = 0;
  std::size_t heap_bytes = 0;  ///< Where the C library reports them.

  static Footprint now() {
    Footprint out;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      // What the allocator maps and unmaps by itself has no name.
      out.mappings += line.find('/') != std::string::npos;
    }
    out.descriptors = static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
#if defined(__GLIBC__)
    out.heap_bytes = ::mallinfo2().uordblks;
#endif
    return out;
  }
};

/// A directory with a plugin that needs a library next to itself, and that library, both with the
/// permissions of an installed file.
struct Companions {
  Companions(const std::filesystem::path& of_plugin, const char* name,
             const std::filesystem::path& of_library)
      : plugin(directory / name) {
    std::filesystem::copy_file(of_plugin, plugin);
    std::filesystem::copy_file(of_library, library);
    ::chmod(plugin.c_str(), 0644);
    ::chmod(library.c_str(), 0644);
  }

  TemporaryDirectory directory;
  std::filesystem::path plugin;
  std::filesystem::path library = directory / "libcompanion.so";
};

/// Calls `body(0)` to `body(15)` on threads of their own, which begin together, and waits.
template <class Body>
void on_sixteen_threads(const Body& body) {
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      ++ready;
      while (ready < 16) std::this_thread::yield();
      body(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tenon::test
