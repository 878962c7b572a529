// SPDX-License-Identifier: MIT
#include "payload.hpp"

#include <algorithm>
#include <cstdint>

#include "tenon/host/file_bytes.hpp"

namespace tenon::doctor {
namespace {

using host::detail::FileBytes;

constexpr std::string_view table_magic = "ETCUDAFQN3";

/// Reads "length, text" and moves on; nothing when it does not lie in the bytes.
std::string take_text(FileBytes bytes, std::uint64_t& at) {
  const std::uint64_t size = bytes.u32(at);
  if (!bytes.holds(at, 4) || !bytes.holds(at + 4, size)) {
    at = bytes.size();
    return {};
  }
  const std::string out(bytes.part(at + 4, size).text());
  at += 4 + size;
  return out;
}

/// The newest form: the key of the library, then one entry for each weight.
std::vector<std::string> keys_of_table(FileBytes bytes) {
  std::uint64_t at = table_magic.size();
  std::vector<std::string> keys{take_text(bytes, at)};
  const std::uint32_t count = bytes.u32(at);
  at += 4;
  for (std::uint32_t i = 0; i < count && at < bytes.size(); ++i) {
    take_text(bytes, at);  // The name in the model.
    std::string key = take_text(bytes, at);
    constexpr std::uint64_t fixed = 8 + 4 + 4 + 8;  // Bytes, dtype, device, offset.
    const std::uint64_t rank = bytes.u32(at + fixed);
    at += fixed + 4 + rank * 16;  // Sizes and strides.
    if (at > bytes.size()) return {};
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(std::move(key));
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
    keys.emplace_back(line);
  }
  return keys;
}

}  // namespace

std::vector<std::string> keys_of_payload(std::string_view backend_id, std::string_view method,
                                         std::span<const std::byte> blob) {
  const bool is_aoti =
      backend_id == "CpuAotiBackend" || backend_id == "CudaBackend" || backend_id == "MetalBackend";
  if (!is_aoti) return {};
  if (blob.empty()) return {std::string(method) + "_so_blob"};
  const FileBytes bytes(blob);
  if (bytes.text().starts_with(table_magic)) return keys_of_table(bytes);
  constexpr std::size_t longest = 1024;  // Two lines of a hash and a few words.
  return blob.size() > longest ? std::vector<std::string>() : keys_of_lines(bytes.text());
}

}  // namespace tenon::doctor
