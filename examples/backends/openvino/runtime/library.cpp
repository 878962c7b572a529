// SPDX-License-Identifier: MIT
#include "runtime/library.hpp"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

namespace openvino_backend {
namespace {

constexpr const char* pattern = "libopenvino_c.so*";
constexpr const char* advice =
    "install it (pip install openvino, or the openvino package of the system) and set OPENVINO_LIB "
    "to its libopenvino_c.so or the directory of that file";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> matching(const std::string& what) {
  glob_t found{};
  std::vector<std::string> out;
  if (::glob(what.c_str(), 0, nullptr, &found) == 0) {
    out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  return out;
}

/// The directory of an OpenVINO that is in the process: one process must not have two.
std::string directory_of_loaded() {
  std::string out;
  const auto note = [](dl_phdr_info* object, std::size_t, void* to) {
    const std::string_view path = object->dlpi_name;
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return 0;
    if (!path.substr(slash + 1).starts_with("libopenvino.so")) return 0;
    static_cast<std::string*>(to)->assign(path.substr(0, slash));
    return 1;
  };
  ::dl_iterate_phdr(note, &out);
  return out;
}

std::vector<std::string> candidates() {
  std::vector<std::string> out;
  // ExecuTorch's own delegate reads OPENVINO_LIB_PATH.
  for (const char* name : {"OPENVINO_LIB", "OPENVINO_LIB_PATH"}) {
    const std::string given = environment(name);
    if (given.empty()) continue;
    struct stat about{};
    if (::stat(given.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) {
      out = matching(given + "/" + pattern);
      if (out.empty()) out.push_back(given + "/libopenvino_c.so");
      return out;
    }
    return {given};
  }
  if (const std::string directory = directory_of_loaded(); !directory.empty()) {
    out = matching(directory + "/" + pattern);
  }
  out.emplace_back("libopenvino_c.so");
  if (const std::string venv = environment("VIRTUAL_ENV"); !venv.empty()) {
    for (std::string& path :
         matching(venv + "/lib/python3*/site-packages/openvino/libs/" + pattern)) {
      out.push_back(std::move(path));
    }
  }
  return out;
}

struct Closer {
  void* handle;
  ~Closer() { ::dlclose(handle); }
};

}  // namespace

tenon::Status check(const Api& api, ov_status status, std::string_view what, tenon::Error error) {
  if (status == ov_ok) [[likely]]
    return tenon::ok();
  const char* said = api.get_last_err_msg();
  std::string text = said ? said : "no text";
  if (said) api.free(said);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return tenon::error(error, "OpenVINO cannot ", what, " (status ", std::int64_t{status},
                      "): ", text);
}

tenon::Result<Library> Library::load() {
  void* handle = nullptr;
  std::string tried;
  std::string path;
  for (const std::string& one : candidates()) {
    handle = ::dlopen(one.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle) {
      path = one;
      break;
    }
    const char* why = ::dlerror();
    tried += tenon::concat(tried.empty() ? "" : "; ", why ? std::string_view(why) : one);
  }
  if (!handle) {
    return tenon::error(tenon::Error::NotFound, "OpenVINO's C library is missing: ", tried, "; ",
                        advice);
  }
  const Closer closer{handle};
  Library out;
  out.path_ = std::move(path);
#define OPENVINO_BACKEND_FIND(name, result, parameters)                                      \
  out.api_.name = reinterpret_cast<result(*) parameters>(::dlsym(handle, "ov_" #name));      \
  if (!out.api_.name) {                                                                      \
    return tenon::error(tenon::Error::NotSupported, out.path_, " has no function ov_" #name, \
                        ": expected OpenVINO 2023.0 or later");                              \
  }
  OPENVINO_BACKEND_FUNCTIONS(OPENVINO_BACKEND_FIND)
#undef OPENVINO_BACKEND_FIND
  ov_version version{};
  TENON_RETURN_IF_ERROR(
      check(out.api_, out.api_.get_openvino_version(&version), "say its version"));
  out.version_ = version.build_number ? version.build_number : "?";
  out.api_.version_free(&version);
  return out;
}

}  // namespace openvino_backend
