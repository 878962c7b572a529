// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/abi/extensions/options.h"
#include "tenon/backend/context.hpp"
#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"

namespace tenon {

/// Declaration of one option of a backend: its key, its initial value (which also is its type), a
/// description of one line, and where it may be given.
struct OptionSpec {
  const char* key;
  std::variant<bool, std::int64_t, double, const char*, Bytes> initial;
  const char* description;
  std::uint32_t where = TENON_OPTION_AT_RUNTIME | TENON_OPTION_AT_LOAD;
};

namespace detail {

constexpr tenon_option_spec to_abi(const OptionSpec& spec) noexcept {
  tenon_option_spec out{};
  out.struct_size = sizeof out;
  out.flags = spec.where;
  out.initial.struct_size = sizeof out.initial;
  out.initial.type = static_cast<std::uint32_t>(spec.initial.index()) + 1;
  out.initial.key = spec.key;
  out.description = spec.description;
  switch (out.initial.type) {
    case TENON_OPTION_BOOL:
      out.initial.as.boolean = std::get<0>(spec.initial) ? 1 : 0;
      break;
    case TENON_OPTION_INT:
      out.initial.as.integer = std::get<1>(spec.initial);
      break;
    case TENON_OPTION_DOUBLE:
      out.initial.as.real = std::get<2>(spec.initial);
      break;
    case TENON_OPTION_STRING: {
      const std::string_view text = std::get<3>(spec.initial);
      out.initial.as.span = tenon_span{text.data(), text.size()};
      break;
    }
    default: {
      const Bytes bytes = std::get<4>(spec.initial);
      out.initial.as.span = tenon_span{bytes.data(), bytes.size()};
      break;
    }
  }
  return out;
}

/// Index of `key` among `specs`, or NotFound with the keys of `specs`.
template <class Specs>
Result<std::size_t> find_option(const Specs& specs, std::string_view key) {
  std::string known;
  for (std::size_t i = 0; i < std::size(specs); ++i) {
    if (key == specs[i].key) return i;
    known += concat(known.empty() ? "" : ", ", specs[i].key);
  }
  // The key may come from a file, of any length.
  constexpr std::size_t most = 64;
  const bool is_long = key.size() > most;
  return error(Error::NotFound, "option '", key.substr(0, most), is_long ? "..." : "",
               "' is unknown; the backend has: ",
               known.empty() ? std::string_view("none") : std::string_view(known));
}

/// Reads `option` as a value for `spec`, after checking its type and whether it may be given here.
inline Result<OptionValue> read_checked(const OptionSpec& spec, const tenon_option& option,
                                        std::uint32_t where) {
  const auto wanted = static_cast<std::uint32_t>(spec.initial.index()) + 1;
  if (option.type != wanted) {
    return error(Error::InvalidType, "option '", spec.key, "': expected ", option_type_name(wanted),
                 ", found ", option_type_name(option.type));
  }
  if ((spec.where & where) == 0) {
    return error(Error::NotSupported, "option '", spec.key, "' cannot be given ",
                 where == TENON_OPTION_AT_LOAD ? "for one load" : "for the whole backend");
  }
  return read_option(option);
}

}  // namespace detail

/// Values of all options of a backend at one moment: those given for one load override those set
/// for the backend. Every declared key has a value.
template <class Derived>
class OptionValues {
 public:
  /// The value of `key`. `T` is bool, std::int64_t, double, std::string or std::vector<std::byte>;
  /// NotFound or InvalidType when it was not declared so.
  template <class T>
  [[nodiscard]] Result<T> get(std::string_view key) const {
    TENON_TRY(const std::size_t index, detail::find_option(Derived::options, key));
    const T* value = std::get_if<T>(&values_[index]);
    if (!value) {
      return error(Error::InvalidType, "option '", key, "' is declared as ",
                   option_type_name(option_type(values_[index])));
    }
    return *value;
  }

 private:
  template <class>
  friend class WithOptions;
  std::vector<OptionValue> values_;
};

/// Mixin: the backend has options. The author declares them,
///
///     static constexpr std::array options{
///         tenon::OptionSpec{"threads", 1, "worker threads"}};
///
/// reads them in `init` with `TENON_TRY(auto options, option_values(context));`, and may add
/// `Status on_set_option(std::string_view key, const OptionValue&)` to act on a change or refuse
/// it. Unknown keys and values of the wrong type are refused before the author's code runs. Any
/// thread.
template <class Derived>
class WithOptions {
 public:
  /// The values for this load.
  [[nodiscard]] Result<OptionValues<Derived>> option_values(const InitContext& context) const {
    OptionValues<Derived> out;
    {
      const std::lock_guard lock(mutex_);
      out.values_ = values_;
    }
    for (std::size_t i = 0; i < context.num_runtime_specs(); ++i) {
      const tenon_option& option = context.runtime_spec(i);
      TENON_TRY(const std::size_t index, detail::find_option(Derived::options, option.key));
      TENON_TRY(out.values_[index],
                detail::read_checked(Derived::options[index], option, TENON_OPTION_AT_LOAD));
    }
    return out;
  }

  /// The values that are set for the backend, where there is no load: in a `preprocess` that is a
  /// const member.
  [[nodiscard]] OptionValues<Derived> option_values() const {
    OptionValues<Derived> out;
    const std::lock_guard lock(mutex_);
    out.values_ = values_;
    return out;
  }

  /// Sets one option for all later loads, as extension "tenon.options/1" does.
  [[nodiscard]] Status set_option(const tenon_option& option) {
    TENON_TRY(const std::size_t index, detail::find_option(Derived::options, option.key));
    TENON_TRY(OptionValue value,
              detail::read_checked(Derived::options[index], option, TENON_OPTION_AT_RUNTIME));
    if constexpr (requires(Derived& backend) {
                    { backend.on_set_option(std::string_view(), value) } -> std::same_as<Status>;
                  }) {
      TENON_RETURN_IF_ERROR(static_cast<Derived&>(*this).on_set_option(option.key, value));
    }
    const std::lock_guard lock(mutex_);
    values_[index] = std::move(value);
    return ok();
  }

  /// The value set for the backend. NotFound for an unknown key.
  [[nodiscard]] Result<OptionValue> get_option(std::string_view key) const {
    TENON_TRY(const std::size_t index, detail::find_option(Derived::options, key));
    const std::lock_guard lock(mutex_);
    return values_[index];
  }

 protected:
  WithOptions() {
    for (const OptionSpec& spec : Derived::options) {
      // The initial values come from constants of the right type, so reading them cannot fail.
      values_.push_back(*read_option(detail::to_abi(spec).initial));
    }
  }
  ~WithOptions() = default;

 private:
  mutable std::mutex mutex_;
  std::vector<OptionValue> values_;
};

namespace detail {

template <class B>
concept HasOptions = std::derived_from<B, WithOptions<B>>;

template <class B>
inline constexpr auto option_specs = [] {
  std::array<tenon_option_spec, std::size(B::options)> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = to_abi(B::options[i]);
  return out;
}();

}  // namespace detail
}  // namespace tenon
