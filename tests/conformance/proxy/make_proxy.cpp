// SPDX-License-Identifier: MIT
#include "make_proxy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "program_path.hpp"
#include "proxy_object.hpp"
#include "tenon/host/binary/peek.hpp"
#include "tenon/host/binary/plugin_record.hpp"
#include "tenon/host/files/mapped_file.hpp"
#include "tenon/host/files/new_file.hpp"
#include "tenon/host/impl/binary/find_object.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon::conformance {

namespace fs = std::filesystem;

namespace {

/// The object of a plugin in the bytes of its file, checked.
Result<std::span<const std::byte>> object_in(std::span<const std::byte> file,
                                             const fs::path& path) {
  auto object = host::detail::find_plugin_object(FileBytes(file), host::this_platform);
  if (!object.ok()) return std::move(object).status().with_context(host::path_text(path));
  TENON_RETURN_IF_ERROR(host::read_record(*object, host::path_text(path)));
  return object;
}

/// The proxy that the bytes of an object are, or null.
const ProxyObject* as_proxy(std::span<const std::byte> object) noexcept {
  if (object.size() < sizeof(ProxyObject)) return nullptr;
  const auto* mark = object.data() + offsetof(ProxyObject, mark);
  if (std::memcmp(mark, proxy_mark, sizeof proxy_mark) != 0) return nullptr;
  return reinterpret_cast<const ProxyObject*>(object.data());
}

/// Copies the record in `from` into `to`, whose structs have the sizes of this program.
Status copy_record(std::span<const std::byte> from, const fs::path& path, ProxyObject& to) {
  TENON_TRY(const host::PluginRecord record, host::read_record(from, host::path_text(path)));
  TENON_RETURN_IF_ERROR(host::check_abi(record));
  if (record.backends.size() > max_proxied_backends) {
    return error(Error::NotSupported, host::path_text(path), ": has ", record.backends.size(),
                 " backends, a proxy supports at most ", max_proxied_backends);
  }
  tenon_plugin_head head{};
  std::uint32_t head_size = 0;
  std::memcpy(&head_size, from.data() + offsetof(tenon_plugin_head, head_size), sizeof head_size);
  std::memcpy(&head, from.data(), std::min<std::size_t>(head_size, sizeof head));
  std::copy(std::begin(head.name), std::end(head.name), to.head.name);
  std::copy(std::begin(head.version), std::end(head.version), to.head.version);
  std::copy(std::begin(head.vendor), std::end(head.vendor), to.head.vendor);
  std::copy(std::begin(head.sdk_version), std::end(head.sdk_version), to.head.sdk_version);
  to.head.abi_minor = std::min(head.abi_minor, to.head.abi_minor);
  to.head.min_host_abi_minor = head.min_host_abi_minor;
  to.head.num_backends = head.num_backends;
  to.body.num_backends = head.num_backends;
  for (std::uint32_t i = 0; i < head.num_backends; ++i) {
    tenon_backend_record& mine = to.records[i];
    mine = {};
    std::memcpy(&mine, from.data() + head.records_offset + std::size_t{i} * head.record_size,
                std::min<std::size_t>(head.record_size, sizeof mine));
    mine.struct_size = sizeof mine;
  }
  return ok();
}

Status check_out(const fs::path& out, const fs::path& plugin, bool force) {
  std::error_code failure;
  if (fs::equivalent(out, plugin, failure)) {
    return error(Error::InvalidArgument, host::path_text(out),
                 ": is the plugin itself, expected another "
                 "file for the proxy");
  }
  const auto found = fs::symlink_status(out, failure).type();
  if (found == fs::file_type::not_found) return ok();
  if (found != fs::file_type::regular && found != fs::file_type::symlink) {
    return error(Error::InvalidState, host::path_text(out),
                 ": is not a regular file, and is not replaced");
  }
  if (force) return ok();
  return error(Error::InvalidState, host::path_text(out), ": already exists (--force replaces it)");
}

Status write_proxy(const fs::path& out, std::span<const std::byte> bytes) {
  TENON_TRY(host::NewFile file, host::NewFile::create(out));
  TENON_RETURN_IF_ERROR(file.write(bytes));
  // Readable like a library; only the owner may change it.
  TENON_RETURN_IF_ERROR(file.set_permissions(static_cast<fs::perms>(0755)));
  return file.commit();
}

}  // namespace

Result<fs::path> find_proxy_template() {
  constexpr std::string_view name = "tenon-proxy.so";
  std::error_code failure;
  const fs::path directory = program_path().parent_path();
  const fs::path built = directory / "proxy" / name;
  const fs::path installed = (directory / TENON_PROXY_DIRECTORY / name).lexically_normal();
  for (const fs::path& path : {built, installed}) {
    if (fs::is_regular_file(path, failure)) return path;
  }
  return error(Error::NotFound, "the template of proxies is neither at ", host::path_text(built),
               " nor at ", host::path_text(installed));
}

Status make_proxy(const fs::path& template_file, const fs::path& plugin, const fs::path& out,
                  bool force) {
  TENON_TRY(const auto proxy_file, host::MappedFile::open(template_file));
  TENON_TRY(const auto empty, object_in(proxy_file.bytes(), template_file));
  if (!as_proxy(empty)) {
    return error(Error::InvalidArgument, host::path_text(template_file),
                 ": is not the template of "
                 "proxies");
  }
  // Reports errors as for any plugin: "there is no such file", "is a text file, expected ...".
  TENON_RETURN_IF_ERROR(host::peek(plugin));
  std::error_code failure;
  const fs::path absolute = fs::canonical(plugin, failure);
  TENON_TRY(const auto plugin_file, host::MappedFile::open(plugin));
  TENON_TRY(const auto wrapped, object_in(plugin_file.bytes(), plugin));
  if (const ProxyObject* other = as_proxy(wrapped)) {
    return error(Error::NotSupported, host::path_text(plugin), ": is a proxy itself, of ",
                 std::string_view(other->wrapped_path), ": make a proxy of that plugin");
  }
  if (host::path_text(absolute).size() >= wrapped_path_size) {
    return error(Error::InvalidArgument, host::path_text(plugin), ": its path has ",
                 host::path_text(absolute).size(), " bytes, a proxy supports at most ",
                 wrapped_path_size - 1);
  }
  TENON_RETURN_IF_ERROR(check_out(out, plugin, force));
  std::vector<std::byte> bytes(proxy_file.bytes().begin(), proxy_file.bytes().end());
  std::byte* place = bytes.data() + (empty.data() - proxy_file.bytes().data());
  ProxyObject object;
  std::memcpy(&object, place, sizeof object);
  TENON_RETURN_IF_ERROR(copy_record(wrapped, plugin, object));
  host::path_text(absolute).copy(object.wrapped_path, wrapped_path_size - 1);
  std::memcpy(place, &object, sizeof object);
  return write_proxy(out, bytes);
}

}  // namespace tenon::conformance
