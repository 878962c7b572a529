// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "boundary/facts.hpp"
#include "boundary/handle_kinds.hpp"
#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"
#include "remote_memory.hpp"
#include "settings.hpp"
#include "tenon/abi/tenon.h"
#include "tenon/core/result.hpp"

namespace tenon::isolated {

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
    const auto memory_bits = from.get<std::uint64_t>();
    for (const HandleKind kind : memory_kinds_to_send(settings.share_memory)) {
      const std::uint32_t number = number_of(sent_memory_kinds, kind);
      // A file in memory that the plugin does not import is mapped by the worker: it is memory of
      // the CPU as any other. Memory of the host is, too.
      const bool is_mapped = kind == MemoryKind::MemFd || kind == MemoryKind::HostMemory;
      if (is_mapped || (memory_bits >> number & 1) != 0) memory_kinds_.push_back(kind.c_str());
    }
    const auto fence_bits = from.get<std::uint64_t>();
    for (const HandleKind kind : sent_fence_kinds) {
      if ((fence_bits >> number_of(sent_fence_kinds, kind) & 1) != 0) {
        fence_kinds_.push_back(kind.c_str());
      }
    }
    const std::size_t count = from.get_count(sizeof(std::uint32_t));
    for (std::size_t i = 0; i < count && from.ok(); ++i) {
      specs_.push_back(take_spec(from));
    }
    if (!from.is_at_end()) return error(Error::Internal, "the worker's answer cannot be read");
    for (const tenon_option_spec& spec : settings.specs(options_)) specs_.push_back(spec);
    return ok();
  }

  [[nodiscard]] bool has(std::uint32_t extension) const noexcept {
    return (extensions_ & extension) != 0;
  }
  /// Of "tenon.external_memory/1": those that are descriptors, and memory of the host where it is
  /// shared.
  [[nodiscard]] HandleKinds memory_kinds() const noexcept { return memory_kinds_; }
  [[nodiscard]] HandleKinds fence_kinds() const noexcept { return fence_kinds_; }
  [[nodiscard]] const std::vector<tenon_option_spec>& specs() const noexcept { return specs_; }
  /// Its texts alone.
  [[nodiscard]] const tenon_scheduling_v1& scheduling() const noexcept { return scheduling_; }

 private:
  tenon_option_spec take_spec(Reader& from) {
    const auto take_text = [&]() -> const char* {
      std::string& text = texts_.emplace_back();
      return from.get_name(text) ? text.c_str() : nullptr;
    };
    const auto take_limit = [&]() -> const tenon_option* {
      if (from.get<std::uint8_t>() == 0) return nullptr;
      return &options_.emplace_back(take_option(from, texts_));
    };
    tenon_option_spec out{};
    out.struct_size = sizeof out;
    out.flags = from.get<std::uint32_t>();
    out.description = take_text();
    out.unit = take_text();
    out.initial = &options_.emplace_back(take_option(from, texts_));
    out.minimum = take_limit();
    out.maximum = take_limit();
    const std::size_t num_choices = from.get_count(sizeof(std::uint64_t));
    if (num_choices == 0) return out;
    auto& choices = choices_.emplace_back();
    for (std::size_t i = 0; i < num_choices && from.ok(); ++i) {
      choices.push_back(texts_.emplace_back(from.get_text()).c_str());
    }
    out.choices = choices.data();
    out.num_choices = static_cast<std::uint32_t>(choices.size());
    return out;
  }

  std::uint32_t extensions_ = 0;
  std::vector<const char*> memory_kinds_;
  std::vector<const char*> fence_kinds_;
  tenon_scheduling_v1 scheduling_{};
  std::vector<tenon_option_spec> specs_;
  std::list<std::string> texts_;
  std::list<tenon_option> options_;
  std::list<std::vector<const char*>> choices_;
};

}  // namespace tenon::isolated
