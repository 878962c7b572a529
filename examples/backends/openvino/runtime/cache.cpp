// SPDX-License-Identifier: MIT
#include "runtime/cache.hpp"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <tenon/core/sha256.hpp>

namespace openvino_backend {
namespace {

using tenon::Error;

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

constexpr std::size_t digest_size = sizeof(tenon::Sha256::bytes);

void update(tenon::Sha256Hasher& hasher, tenon::Bytes bytes) {
  const std::uint64_t size = bytes.size();
  hasher.update(std::as_bytes(std::span(&size, 1)));
  hasher.update(bytes);
}

void update(tenon::Sha256Hasher& hasher, std::string_view text) {
  update(hasher, std::as_bytes(std::span(text)));
}

std::vector<std::byte> whole_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rbe"));
  struct stat about{};
  if (!file || ::fstat(::fileno(file.get()), &about) != 0 || about.st_size <= 0) return {};
  std::vector<std::byte> bytes(static_cast<std::size_t>(about.st_size));
  if (std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) return {};
  return bytes;
}

tenon::Status failed(std::string_view what, const std::string& path) {
  return tenon::error(Error::AccessFailed, "cannot ", what, " '", path,
                      "': ", std::string_view(std::strerror(errno)));
}

/// Removes a file that was not renamed.
struct Unlink {
  const std::string& path;
  bool armed = true;
  ~Unlink() {
    if (armed) ::unlink(path.c_str());
  }
};

}  // namespace

Cache::Cache(const Settings& settings, const Library& library, tenon::Bytes xml,
             tenon::Bytes weights)
    : directory_(settings.cache_dir) {
  tenon::Sha256Hasher hasher;
  update(hasher, library.version());
  update(hasher, settings.device);
  for (const auto& [key, value] : settings.properties()) {
    update(hasher, key);
    update(hasher, value);
  }
  update(hasher, xml);
  update(hasher, weights);
  path_ = directory_ + "/" + hasher.finish().to_hex() + ".blob";
}

std::vector<std::byte> Cache::read() const {
  std::vector<std::byte> bytes = whole_file(path_);
  if (bytes.size() <= digest_size) return {};
  const std::size_t size = bytes.size() - digest_size;
  const tenon::Sha256 found = tenon::sha256_of(tenon::Bytes(bytes).first(size));
  if (std::memcmp(found.bytes.data(), bytes.data() + size, digest_size) != 0) return {};
  bytes.resize(size);
  return bytes;
}

tenon::Status Cache::write(const std::function<tenon::Status(const char*)>& to) const {
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) {
    return failed("create the directory", directory_);
  }
  std::string path = path_ + ".XXXXXX";
  const int descriptor = ::mkstemp(path.data());
  if (descriptor < 0) return failed("create", path);
  ::close(descriptor);
  Unlink unlink{path};
  TENON_RETURN_IF_ERROR(to(path.c_str()));
  const tenon::Sha256 digest = tenon::sha256_of(whole_file(path));
  File file(std::fopen(path.c_str(), "abe"));
  if (!file) return failed("open", path);
  const bool whole = std::fwrite(digest.bytes.data(), 1, digest_size, file.get()) == digest_size;
  if (std::fclose(file.release()) != 0 || !whole) return failed("write", path);
  if (std::rename(path.c_str(), path_.c_str()) != 0) return failed("rename", path);
  unlink.armed = false;
  return tenon::ok();
}

}  // namespace openvino_backend
