// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// A plugin's description of one backend, read before anything of it is loaded
/// (`tenon_backend_record`).
struct BackendRecord {
  std::string id;                         ///< The string that programs name. Never empty.
  std::vector<std::string> tags;          ///< Without blanks around them; none is empty.
  std::vector<std::string> cpu_features;  ///< Required features of the CPU; same form as the tags.
  std::string description;                ///< One line for a person.
  std::int32_t priority = 0;  ///< Among plugins that serve one id the highest that fits wins.
  std::uint32_t min_payload_version = 0;  ///< 0 and 0: payloads carry no version.
  std::uint32_t max_payload_version = 0;  ///< Included.
  bool runs_embedded_code = false;        ///< It runs native code that programs carry.
  bool offers_kernels = false;            ///< It has kernels for operators left in programs.

  friend bool operator==(const BackendRecord&, const BackendRecord&) = default;
};

/// A plugin's description of itself (`tenon_plugin_head` and its records). A copy: it refers to
/// nothing in the file. A host that loads the library compares the record in the file with the
/// record of the loaded object.
struct PluginRecord {
  std::string name;         ///< Never empty: a plugin without one is named after its first backend.
  std::string version;      ///< Of the plugin; may be empty.
  std::string vendor;       ///< May be empty.
  std::string sdk_version;  ///< TENON_VERSION_STRING of the plugin's headers.
  std::uint16_t abi_major = 0;
  std::uint16_t abi_minor = 0;
  std::uint16_t min_host_abi_minor = 0;
  std::vector<BackendRecord> backends;  ///< At least one, in the plugin's order; ids differ.

  friend bool operator==(const PluginRecord&, const PluginRecord&) = default;
};

/// The ABI that a host speaks.
struct AbiVersion {
  std::uint16_t abi_major = TENON_ABI_MAJOR;
  std::uint16_t abi_minor = TENON_ABI_MINOR;
};

/// Most backends that one plugin may describe. Bounds the work that a false count can cause.
inline constexpr std::uint32_t max_backends_per_plugin = 1024;

/// Whether `host` may load the plugin: the majors are equal and the host's minor is not below the
/// one that the plugin needs (TN-NEG-1). Otherwise NotSupported with a message that names both
/// versions (TN-NEG-2).
[[nodiscard]] Status check_abi(const PluginRecord& record, AbiVersion host = {});

/// Reads and checks the object that a plugin exports under TENON_PLUGIN_SYMBOL.
///
/// `object` is its bytes: in a file, in a loaded library, or in the application that the plugin is
/// linked into. It may be longer than the object. The pointers in it are not read, and of the
/// body only its bounds are checked: its contents are for the host that loads the library.
///
/// Structs of a newer plugin may be longer than this host's (the rest is skipped), structs of an
/// older one shorter (the missing fields are empty or 0). A record of another ABI is read when that
/// is possible and checked by `check_abi`.
///
/// `pointer_size` is the size in bytes, 4 or 8, of pointers in a plugin of the expected platform.
///
/// threads: any. errors: InvalidArgument for a malformed object; NotSupported when its backends
/// cannot be read and its ABI is not this host's. The text begins with `where`.
[[nodiscard]] Result<PluginRecord> read_record(std::span<const std::byte> object,
                                               std::string_view where,
                                               std::size_t pointer_size = sizeof(void*));

namespace detail {

/// Fails with the first byte that is not UTF-8 or the first control character. Such text would
/// reach a terminal or a log.
[[nodiscard]] Status check_text(std::string_view text, std::string_view field);

}  // namespace detail

}}}  // namespace tenon::TENON_RELEASE::host
