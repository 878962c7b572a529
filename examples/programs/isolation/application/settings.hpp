// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <string_view>

#include "isolated_object.hpp"
#include "tenon/abi/extensions/options.h"
#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/quoted.hpp"

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
    TENON_TRY(const tenon_option now, get(option.key));
    TENON_RETURN_IF_ERROR(check_use(key, {now.type, places}, {option.type, places}));
    std::int64_t* const number = number_of(key);
    if (!number) {
      own_worker = option.as.boolean != 0;
    } else if (option.as.integer < 0) {
      return error(Error::InvalidArgument, "option '", key, "': expected 0 or more, found ",
                   option.as.integer);
    } else {
      *number = option.as.integer;
    }
    return ok();
  }
  /// The value of one, which refers to `key`. errors: NotFound.
  [[nodiscard]] Result<tenon_option> get(const char* key) {
    if (std::string_view(key) == "isolated.own_worker") return write_option(key, own_worker);
    if (const std::int64_t* const number = number_of(key)) return write_option(key, *number);
    return unknown(key);
  }

  /// Their declarations, with the values of `this` as initial ones, which `kept` then has.
  [[nodiscard]] std::array<tenon_option_spec, 3> specs(std::list<tenon_option>& kept) {
    static constexpr tenon_option zero{sizeof(tenon_option), TENON_OPTION_INT, "", {}};
    const auto spec = [&](const char* key, const char* description, const char* unit) {
      tenon_option_spec out{};
      out.struct_size = sizeof out;
      out.flags = places;
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

  /// The refusal of a key that neither they nor the plugin have.
  [[nodiscard]] static Status unknown(std::string_view key) {
    return error(Error::NotFound, "option ", host::quoted(key),
                 " is unknown; expected isolated.deadline_ms, isolated.restart or "
                 "isolated.own_worker");
  }

 private:
  static constexpr std::uint32_t places = TENON_OPTION_AT_RUNTIME | TENON_OPTION_AT_LOAD;

  std::int64_t* number_of(std::string_view key) noexcept {
    if (key == "isolated.deadline_ms") return &deadline_ms;
    if (key == "isolated.restart") return &restart;
    return nullptr;
  }
};

}  // namespace tenon::isolated
