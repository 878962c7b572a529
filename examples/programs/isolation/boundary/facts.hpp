// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "boundary/messages.hpp"
#include "tenon/abi/extensions/options.h"
#include "tenon/abi/memory_use.h"

/// Statements of a plugin about itself, as messages have them.
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

/// An option that `put_option` wrote; `texts` keeps what it points to.
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

/// The declaration of an option.
inline void put_spec(Writer& to, const tenon_option_spec& spec) {
  to.put(spec.flags);
  to.put_name(spec.description);
  to.put_name(spec.unit);
  put_option(to, *spec.initial);
  for (const tenon_option* limit : {spec.minimum, spec.maximum}) {
    to.put<std::uint8_t>(limit ? 1 : 0);
    if (!limit) continue;
    tenon_option keyed = *limit;
    keyed.key = spec.initial->key;  // A limit's own may be NULL.
    put_option(to, keyed);
  }
  const std::uint32_t num_choices = spec.choices ? spec.num_choices : 0;
  to.put<std::uint64_t>(num_choices);
  for (std::uint32_t i = 0; i < num_choices; ++i) to.put_text(spec.choices[i]);
}

/// One use of memory, for a sink; `to` is the `Writer`.
inline void put_use(void* to, const tenon_memory_use* use) {
  auto& out = *static_cast<Writer*>(to);
  out.put<std::uint8_t>(1);
  out.put(use->device);
  out.put(use->nbytes);
  out.put_name(use->kind);
}

}  // namespace tenon::isolated
