// SPDX-License-Identifier: MIT
#include "replayer.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string_view>

#include "state.hpp"

namespace tenon::stand_in_cuda {

namespace {

const char* socket_path() {
  static const char* const path = std::getenv("TENON_STAND_IN_CUDA_REPLAYER");
  return path;
}

/// The connection of the process, made at the first launch and never closed; -1 when that failed.
int connection() {
  static const int made = [] {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string_view path = socket_path();
    const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0 || path.size() >= sizeof address.sun_path) return -1;
    path.copy(address.sun_path, path.size());
    const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
    return ::connect(file, generic, sizeof address) == 0 ? file : -1;
  }();
  return made;
}

bool send_all(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(connection(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool receive_all(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const auto received = ::recv(connection(), bytes.data(), bytes.size(), 0);
    if (received <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(received));
  }
  return true;
}

using Blocks = std::map<std::uint64_t, std::span<std::byte>>;

/// The blocks that a launch may use: words in its parameters name them, also within structures.
Blocks blocks_of(const Launch& launch) {
  Blocks out;
  for (const auto& parameter : launch.parameters) {
    std::uint64_t word = 0;
    for (std::size_t at = 0; at + sizeof word <= parameter.size(); at += sizeof word) {
      std::memcpy(&word, parameter.data() + at, sizeof word);
      const DeviceBlock* const block = word < first_address ? nullptr : find_block(word, 1);
      if (block) out.try_emplace(block->address, block->bytes, block->nbytes);
    }
  }
  return out;
}

void append_hexadecimal(std::string& out, std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const std::byte each : bytes) {
    const auto value = std::to_integer<unsigned>(each);
    out += digits[value >> 4];
    out += digits[value & 0xfu];
  }
}

/// `values` as a list of JSON.
template <class Values, class Append>
void append_list(std::string& out, std::string_view name, const Values& values, Append append) {
  out.append(", \"").append(name).append("\": [");
  bool is_first = true;
  for (const auto& each : values) {
    if (!is_first) out += ", ";
    is_first = false;
    append(each);
  }
  out += ']';
}

std::string describe(const Launch& launch, const Blocks& blocks) {
  // Names of kernels are identifiers, so that nothing is escaped.
  std::string out = "{\"kernel\": \"" + launch.kernel + "\"";
  const auto number = [&](std::uint64_t value) { out += std::to_string(value); };
  append_list(out, "grid", std::span(launch.sizes).first(3), number);
  append_list(out, "block", std::span(launch.sizes).last(3), number);
  out += ", \"shared_bytes\": " + std::to_string(launch.shared_bytes);
  append_list(out, "parameters", launch.parameters, [&](const auto& bytes) {
    out += '"';
    append_hexadecimal(out, bytes);
    out += '"';
  });
  append_list(out, "blocks", blocks, [&](const auto& block) {
    out += '[' + std::to_string(block.first) + ", " + std::to_string(block.second.size()) + ']';
  });
  return out + '}';
}

bool send_request(const std::string& text, const Blocks& blocks) {
  const auto size = static_cast<std::uint32_t>(text.size());
  if (!send_all(std::as_bytes(std::span(&size, 1))) || !send_all(std::as_bytes(std::span(text)))) {
    return false;
  }
  for (const auto& [address, bytes] : blocks) {
    if (!send_all(bytes)) return false;
  }
  return true;
}

/// False when the connection ends; `reason` is empty for a launch that was computed.
bool receive_answer(std::string& reason, const Blocks& blocks) {
  std::uint32_t size = 0;
  if (!receive_all(std::as_writable_bytes(std::span(&size, 1)))) return false;
  reason.resize(size);
  if (!receive_all(std::as_writable_bytes(std::span(reason)))) return false;
  for (const auto& [address, bytes] : blocks) {
    if (reason.empty() && !receive_all(bytes)) return false;
  }
  return true;
}

}  // namespace

bool has_replayer() { return socket_path() != nullptr; }

void replay(const Launch& launch) {
  const Blocks blocks = blocks_of(launch);
  std::string reason;
  if (connection() < 0) {
    reason = std::string("no process listens at '") + socket_path() + "'";
  } else if (!send_request(describe(launch, blocks), blocks) || !receive_answer(reason, blocks)) {
    reason = "the process that computes launches has ended";
  }
  if (!reason.empty()) misuse(invalid_value, launch.kernel + ": " + reason);
}

}  // namespace tenon::stand_in_cuda
