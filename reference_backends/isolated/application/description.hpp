// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"
#include "remote_memory.hpp"
#include "settings.hpp"
#include "tenon/abi/tenon.h"
#include "tenon/core/result.hpp"

namespace tenon::isolated {

/// An option as a message has it.
inline void put_option(Writer& to, const tenon_option& option) {
  to.put_text(option.key);
  to.put(option.type);
  if (option.type == TENON_OPTION_STRING || option.type == TENON_OPTION_BYTES) {
    to.put_bytes(option.as.span.data, option.as.span.size);
  } else if (option.type == TENON_OPTION_BOOL) {
    to.put<std::int64_t>(option.as.boolean);
  } else {
    to.put(option.as.integer);
  }
}

/// One that was read from a message; `texts` keeps what it points to.
[[nodiscard]] inline tenon_option take_option(Reader& from, std::list<std::string>& texts) {
  tenon_option out{};
  out.struct_size = sizeof out;
  out.key = texts.emplace_back(from.get_text()).c_str();
  out.type = from.get<std::uint32_t>();
  if (out.type == TENON_OPTION_STRING || out.type == TENON_OPTION_BYTES) {
    const std::string& bytes = texts.emplace_back(from.get_text());
    out.as.span = {bytes.data(), bytes.size()};
  } else if (out.type == TENON_OPTION_BOOL) {
    out.as.boolean = from.get<std::int64_t>() != 0;
  } else {
    out.as.integer = from.get<std::int64_t>();
  }
  return out;
}

/// A worker's description of the backend that it opened, from which `get_extension` answers. Its
/// address must not change.
class Description {
 public:
  Description() = default;
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

  /// Reads it. errors: Internal for what no worker writes.
  [[nodiscard]] Status read(Reader& from, Settings settings) {
    extensions_ = from.get<std::uint32_t>();
    for (const char** text : {&scheduling_.priority, &scheduling_.goal, &scheduling_.power}) {
      std::string& kept = texts_.emplace_back();
      *text = from.get_name(kept) ? kept.c_str() : nullptr;
    }
    memory_kinds_ = sent_kinds(from.get<std::uint64_t>(), &is_descriptor_kind);
    // Of a plugin that imports none, the worker maps them: memory of the CPU as any other.
    memory_kinds_ |= std::uint64_t{1} << TENON_EXTERNAL_MEMFD;
    if (settings.share_memory) memory_kinds_ |= std::uint64_t{1} << TENON_EXTERNAL_HOST_MEMORY;
    fence_kinds_ = sent_kinds(from.get<std::uint64_t>(), &is_descriptor_fence);
    const std::size_t count = from.get_count(sizeof(std::uint32_t));
    for (std::size_t i = 0; i < count && from.ok(); ++i) {
      tenon_option_spec spec{};
      spec.struct_size = sizeof spec;
      spec.flags = from.get<std::uint32_t>();
      std::string& text = texts_.emplace_back();
      spec.description = from.get_name(text) ? text.c_str() : nullptr;
      spec.initial = take_option(from, texts_);
      specs_.push_back(spec);
    }
    if (!from.is_at_end()) return error(Error::Internal, "the worker's answer cannot be read");
    for (const tenon_option_spec& spec : settings.specs()) specs_.push_back(spec);
    return ok();
  }

  [[nodiscard]] bool has(std::uint32_t extension) const noexcept {
    return (extensions_ & extension) != 0;
  }
  /// Of "tenon.external_memory/1": those that are descriptors, and memory of the host where it is
  /// shared.
  [[nodiscard]] std::uint64_t memory_kinds() const noexcept { return memory_kinds_; }
  [[nodiscard]] std::uint64_t fence_kinds() const noexcept { return fence_kinds_; }
  [[nodiscard]] const std::vector<tenon_option_spec>& specs() const noexcept { return specs_; }
  /// Its texts alone.
  [[nodiscard]] const tenon_scheduling_v1& scheduling() const noexcept { return scheduling_; }

 private:
  std::uint32_t extensions_ = 0;
  std::uint64_t memory_kinds_ = 0;
  std::uint64_t fence_kinds_ = 0;
  tenon_scheduling_v1 scheduling_{};
  std::vector<tenon_option_spec> specs_;
  std::list<std::string> texts_;
};

}  // namespace tenon::isolated
