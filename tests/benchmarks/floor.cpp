// SPDX-License-Identifier: MIT
#include "floor.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <memory>

#include "tenon/abi/plugin.h"

namespace tenon::bench::floor {
namespace {

const tenon_plugin_head* open_plugin(const std::string& path, void*& library) {
  library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Failure(std::string("dlopen: ") + ::dlerror());
  const auto* head = static_cast<const tenon_plugin_head*>(::dlsym(library, TENON_PLUGIN_SYMBOL));
  if (head == nullptr) throw Failure(path + " has no " TENON_PLUGIN_SYMBOL);
  return head;
}

}  // namespace

Work call(const std::string& plugin) {
  void* opened = nullptr;
  const auto* head = open_plugin(plugin, opened);
  const std::shared_ptr<void> library(opened, [](void* handle) { ::dlclose(handle); });
  const auto* body = reinterpret_cast<const tenon_plugin_body*>(
      reinterpret_cast<const std::byte*>(head) + head->body_offset);
  const auto* api = body->backends[0];
  return [library, api](std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      keep(api);
      if (api->execute(nullptr, nullptr, nullptr, nullptr, 0) != TENON_STATUS_OK) {
        throw Failure("the no-op backend failed");
      }
    }
  };
}

Work map_file(const std::string& path) {
  return [path](std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      struct stat facts{};
      if (file < 0 || ::fstat(file, &facts) != 0) throw Failure("cannot open " + path);
      const auto size = static_cast<std::size_t>(facts.st_size);
      void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
      if (bytes == MAP_FAILED) throw Failure("cannot map " + path);
      const char first = *static_cast<const volatile char*>(bytes);
      keep(first);
      ::munmap(bytes, size);
      ::close(file);
    }
  };
}

Work open_library(const std::string& path) {
  return [path](std::uint64_t repeats) {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      void* library = nullptr;
      keep(open_plugin(path, library));
      ::dlclose(library);
    }
  };
}

}  // namespace tenon::bench::floor
