// SPDX-License-Identifier: MIT
#include "payload.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>

#include "tenon/core/concat.hpp"
#include "tenon/core/file_bytes.hpp"

namespace tenon::doctor {
namespace {

constexpr std::string_view table_magic = "ETCUDAFQN";  // And a digit.

/// Reads "length, text" and moves on; nothing when it is not inside the bytes.
std::optional<std::string_view> take_text(FileBytes bytes, std::uint64_t& at) {
  if (!bytes.holds(at, 4)) return std::nullopt;
  const std::uint64_t size = bytes.u32(at);
  if (!bytes.holds(at + 4, size)) return std::nullopt;
  const std::string_view out = bytes.part(at + 4, size).text();
  at += 4 + size;
  return out;
}

/// Reads one weight of the table and gives its key.
std::optional<std::string_view> take_weight(FileBytes bytes, std::uint64_t& at) {
  const auto name = take_text(bytes, at);
  const auto key = name ? take_text(bytes, at) : std::nullopt;
  constexpr std::uint64_t fixed = 8 + 4 + 4 + 8;  // Bytes, dtype, device, offset.
  if (!key || !bytes.holds(at, fixed + 4)) return std::nullopt;
  const std::uint64_t rank = bytes.u32(at + fixed);
  at += fixed + 4;
  if (!bytes.holds(at, rank * 16)) return std::nullopt;  // Sizes and strides.
  at += rank * 16;
  return key;
}

/// Reads the keys of the libraries: one, or a number of them, each after what it is compiled for.
std::optional<std::vector<std::string_view>> take_libraries(FileBytes bytes, std::uint64_t& at) {
  const char digit = bytes.text()[at++];
  std::vector<std::string_view> out;
  std::uint32_t count = 1;
  std::uint64_t targets = 0;  // Bytes in front of each key.
  if (digit == '0' || digit == '4' || digit == '5') {
    if (!bytes.holds(at, 4)) return std::nullopt;
    count = bytes.u32(at);
    at += 4;
    targets = digit == '4' ? 8 : 12;
  } else if (digit != '3') {
    return std::nullopt;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    at += targets;
    const auto key = take_text(bytes, at);
    if (!key) return std::nullopt;
    out.push_back(*key);
  }
  return out;
}

/// The newer forms: the keys of the libraries, then one entry for each weight. A table that ends
/// too early has no keys: what it would say cannot be known.
std::vector<std::string> keys_of_table(FileBytes bytes) {
  std::uint64_t at = table_magic.size();
  if (!bytes.holds(at, 1)) return {};
  const auto libraries = take_libraries(bytes, at);
  if (!libraries || !bytes.holds(at, 4)) return {};
  const std::uint32_t count = bytes.u32(at);
  at += 4;
  std::vector<std::string> keys;
  std::unordered_set<std::string_view> seen;
  for (const std::string_view library : *libraries) {
    if (seen.insert(library).second) keys.emplace_back(library);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto key = take_weight(bytes, at);
    if (!key) return {};
    if (seen.insert(*key).second) keys.emplace_back(*key);
  }
  return keys;
}

std::vector<std::string> keys_of_lines(std::string_view text) {
  std::vector<std::string> keys;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (!line.ends_with("_so_blob") && !line.ends_with("_weights_blob")) return {};
    if (std::ranges::find(keys, line) == keys.end()) keys.emplace_back(line);
  }
  return keys;
}

}  // namespace

std::vector<std::string> keys_of_payload(std::string_view backend_id, std::string_view method,
                                         std::span<const std::byte> blob) {
  const bool is_aoti =
      backend_id == "CpuAotiBackend" || backend_id == "CudaBackend" || backend_id == "MetalBackend";
  if (!is_aoti) return {};
  if (blob.empty()) return {method.empty() ? "so_blob" : concat(method, "_so_blob")};
  const FileBytes bytes(blob);
  if (bytes.text().starts_with(table_magic)) return keys_of_table(bytes);
  constexpr std::size_t longest = 1024;  // Two lines of a hash and a few words.
  return blob.size() > longest ? std::vector<std::string>() : keys_of_lines(bytes.text());
}

}  // namespace tenon::doctor
