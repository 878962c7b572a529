// SPDX-License-Identifier: MIT
#include "sandbox/violations.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "sandbox/native_architecture.hpp"
#include "sandbox/system_call_names.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/visible.hpp"

namespace tenon::isolated {
namespace {

std::string name_of(std::int32_t call, std::uint32_t architecture) {
  if (architecture != native_architecture) {
    return concat("call ", call, " of another architecture");
  }
  const std::string_view name = system_call_name(call);
  return name.empty() ? concat("number ", call) : std::string(name);
}

std::string hex(std::uint64_t number) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
  return concat("0x", std::string_view(digits, end));
}

}  // namespace

std::vector<Violation> read_violations(const Violations& shared) {
  std::vector<Violation> found;
  for (const Violations::Entry& entry : shared.entries) {
    if (entry.state.load(std::memory_order_acquire) != 2) continue;
    // A copy: what is checked must not change afterwards.
    const std::array<char, 256> path = entry.path;
    const auto end = std::find(path.begin(), path.end(), '\0');
    found.push_back({
        .call = name_of(entry.call, entry.architecture),
        .count = entry.count.load(std::memory_order_relaxed),
        .ended = entry.ended != 0,
        .thread = entry.thread,
        .address = entry.address,
        .arguments = entry.arguments,
        .path = std::string(path.begin(), end),
    });
  }
  return found;
}

std::string describe(const Violation& violation) {
  std::string text = concat(violation.ended ? "ended by " : "refused ", violation.call);
  if (!violation.path.empty()) {
    text += concat(" of ", violation.path);
  } else {
    text += '(';
    for (const std::uint64_t argument : violation.arguments) {
      if (text.back() != '(') text += ", ";
      text += hex(argument);
    }
    text += ')';
  }
  if (violation.count > 1) text += concat(", ", violation.count, " times");
  text += concat(", at ", hex(violation.address), ", thread ", violation.thread);
  return detail::visible(text);
}

}  // namespace tenon::isolated
