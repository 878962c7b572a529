// SPDX-License-Identifier: MIT
#include "runtime/export.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace openvino_backend {
namespace {

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

}  // namespace

tenon::Result<std::vector<std::byte>> export_model(const Api& api, const ov_compiled_model* model) {
  const auto failed = [](std::string_view what) {
    return tenon::error(tenon::Error::AccessFailed, "cannot ", what,
                        " a temporary file: ", std::strerror(errno));
  };
  const std::unique_ptr<std::FILE, Close> file(std::tmpfile());
  if (!file) return failed("create");
  const int descriptor = ::fileno(file.get());
  TENON_RETURN_IF_ERROR(check(
      api, api.compiled_model_export_model(model, tenon::concat("/dev/fd/", descriptor).c_str()),
      "export the compiled model", tenon::Error::AccessFailed));
  struct stat about{};
  if (::fstat(descriptor, &about) != 0 || std::fseek(file.get(), 0, SEEK_SET) != 0) {
    return failed("read");
  }
  std::vector<std::byte> out(static_cast<std::size_t>(about.st_size));
  if (std::fread(out.data(), 1, out.size(), file.get()) != out.size()) return failed("read");
  return out;
}

}  // namespace openvino_backend
