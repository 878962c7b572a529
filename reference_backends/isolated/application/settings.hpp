// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <string_view>

#include "isolated_object.hpp"
#include "tenon/abi/extensions/options.h"
#include "tenon/core/result.hpp"
#include "tenon/host/files/quoted.hpp"

namespace tenon::isolated {

/// The names of options that the wrapped plugin does not see begin with it.
inline constexpr std::string_view option_prefix = "isolated.";

[[nodiscard]] inline bool is_own_option(const char* key) noexcept {
  return key && std::string_view(key).starts_with(option_prefix);
}

/// The options of the isolated plugin itself.
struct Settings {
  std::int64_t deadline_ms = 0;
  std::int64_t restart = 0;
  bool own_worker = false;
  bool share_memory = false;  // No option: hosts plan memory by the kinds that are constant.

  [[nodiscard]] static Settings of(const IsolatedSettings& object) noexcept {
    return {static_cast<std::int64_t>(object.deadline_ms), object.restart,
            object.sharing == static_cast<std::uint32_t>(Sharing::delegate),
            object.memory == static_cast<std::uint32_t>(WorkerMemory::shared)};
  }

  /// Sets one. errors: as TN-OPT-1 says; InvalidArgument for a negative number.
  [[nodiscard]] Status set(const tenon_option& option) {
    const std::string_view key(option.key);
    if (key == "isolated.own_worker") {
      if (option.type != TENON_OPTION_BOOL) return wrong_type(option, "a bool");
      own_worker = option.as.boolean != 0;
      return ok();
    }
    std::int64_t* const number = number_of(key);
    if (!number) return unknown(key);
    if (option.type != TENON_OPTION_INT) return wrong_type(option, "an int");
    if (option.as.integer < 0) {
      return error(Error::InvalidArgument, "option '", key, "' is ", option.as.integer,
                   ", expected 0 or more");
    }
    *number = option.as.integer;
    return ok();
  }
  [[nodiscard]] Result<tenon_option> get(const char* key) {
    tenon_option out{};
    out.struct_size = sizeof out;
    out.key = key;
    if (std::string_view(key) == "isolated.own_worker") {
      out.type = TENON_OPTION_BOOL;
      out.as.boolean = own_worker;
      return out;
    }
    const std::int64_t* const number = number_of(key);
    if (!number) return unknown(key);
    out.type = TENON_OPTION_INT;
    out.as.integer = *number;
    return out;
  }

  /// Their declarations, with the values of `this` as initial ones, which `kept` then has.
  [[nodiscard]] std::array<tenon_option_spec, 3> specs(std::list<tenon_option>& kept) {
    static constexpr tenon_option zero{sizeof(tenon_option), TENON_OPTION_INT, "", {}};
    const auto spec = [&](const char* key, const char* description, const char* unit) {
      tenon_option_spec out{};
      out.struct_size = sizeof out;
      out.flags = TENON_OPTION_AT_RUNTIME | TENON_OPTION_AT_LOAD;
      out.description = description;
      out.unit = unit;
      out.initial = &kept.emplace_back(*get(key));
      if (out.initial->type == TENON_OPTION_INT) out.minimum = &zero;
      return out;
    };
    return {spec("isolated.deadline_ms",
                 "Longest time of a call, after which the worker is ended; 0: none", "ms"),
            spec("isolated.restart",
                 "How often a delegate whose worker died is loaded again in a new one", nullptr),
            spec("isolated.own_worker", "Whether a delegate has a worker of its own", nullptr)};
  }

 private:
  std::int64_t* number_of(std::string_view key) noexcept {
    if (key == "isolated.deadline_ms") return &deadline_ms;
    if (key == "isolated.restart") return &restart;
    return nullptr;
  }
  static Status unknown(std::string_view key) {
    return error(Error::NotFound, "option ", host::quoted(key),
                 " is unknown; expected isolated.deadline_ms, isolated.restart or "
                 "isolated.own_worker");
  }
  static Status wrong_type(const tenon_option& option, std::string_view expected) {
    return error(Error::InvalidType, "option '", std::string_view(option.key), "' has type ",
                 option.type, ", expected ", expected);
  }
};

}  // namespace tenon::isolated
