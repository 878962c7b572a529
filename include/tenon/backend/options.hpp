// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/abi/extensions/options.h"
#include "tenon/backend/context.hpp"
#include "tenon/core/option_view.hpp"
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

/// The declarations of a backend's options. With it, all that handles options is a function and not
/// a template of each backend.
struct OptionTable {
  const OptionSpec* first;
  std::size_t count;

  [[nodiscard]] const OptionSpec& operator[](std::size_t index) const noexcept {
    return first[index];
  }
};

template <class B>
constexpr OptionTable option_table() noexcept {
  return {std::data(B::options), std::size(B::options)};
}

/// Index of `key` among `specs`, or NotFound with the keys of `specs`.
inline Result<std::size_t> find_option(OptionTable specs, std::string_view key) {
  std::string known;
  for (std::size_t i = 0; i < specs.count; ++i) {
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

/// The value of an option as a backend stores it. Not an OptionValue, because copies and moves of a
/// std::variant are several hundred functions in each plugin.
struct StoredOption {
  std::uint32_t type = 0;    ///< TENON_OPTION_...
  std::int64_t integer = 0;  ///< Of a boolean too.
  double real = 0.0;
  std::string text;  ///< Of bytes too.
};

/// TENON_OPTION_... of a C++ type; 0 of types that no option has.
template <class T>
inline constexpr std::uint32_t option_type_of = 0;
template <>
inline constexpr std::uint32_t option_type_of<bool> = TENON_OPTION_BOOL;
template <>
inline constexpr std::uint32_t option_type_of<std::int64_t> = TENON_OPTION_INT;
template <>
inline constexpr std::uint32_t option_type_of<double> = TENON_OPTION_DOUBLE;
template <>
inline constexpr std::uint32_t option_type_of<std::string> = TENON_OPTION_STRING;
template <>
inline constexpr std::uint32_t option_type_of<std::vector<std::byte>> = TENON_OPTION_BYTES;

/// Copies a value of a known type off the boundary. Fails as `read_option` does.
inline Status store_option(const tenon_option& option, StoredOption& out) {
  out.type = option.type;
  switch (option.type) {
    case TENON_OPTION_BOOL:
      out.integer = option.as.boolean != 0 ? 1 : 0;
      return ok();
    case TENON_OPTION_INT:
      out.integer = option.as.integer;
      return ok();
    case TENON_OPTION_DOUBLE:
      out.real = option.as.real;
      return ok();
    default:
      break;
  }
  const auto* first = static_cast<const char*>(option.as.span.data);
  const auto size = static_cast<std::size_t>(option.as.span.size);
  if (!first && size != 0) {
    return error(Error::InvalidArgument, "option '", std::string_view(option.key), "': ", size,
                 " bytes at no address");
  }
  out.text.assign(first ? first : "", size);
  return ok();
}

/// Copies `option` as a value for `spec`, after checking its type and whether it may be given here.
inline Status store_checked(const OptionSpec& spec, const tenon_option& option, std::uint32_t where,
                            StoredOption& out) {
  const auto wanted = static_cast<std::uint32_t>(spec.initial.index()) + 1;
  if (option.type != wanted) {
    return error(Error::InvalidType, "option '", spec.key, "': expected ", option_type_name(wanted),
                 ", found ", option_type_name(option.type));
  }
  if ((spec.where & where) == 0) {
    return error(Error::NotSupported, "option '", spec.key, "' cannot be given ",
                 where == TENON_OPTION_AT_LOAD ? "for one load" : "for the whole backend");
  }
  return store_option(option, out);
}

/// Presents a value to the other side of the boundary. Refers to `key` and `value`.
inline tenon_option present_option(const char* key, const StoredOption& value) noexcept {
  tenon_option option{};
  option.struct_size = sizeof option;
  option.type = value.type;
  option.key = key;
  switch (option.type) {
    case TENON_OPTION_BOOL:
      option.as.boolean = value.integer != 0 ? 1 : 0;
      break;
    case TENON_OPTION_INT:
      option.as.integer = value.integer;
      break;
    case TENON_OPTION_DOUBLE:
      option.as.real = value.real;
      break;
    default:
      option.as.span = {value.text.data(), value.text.size()};
      break;
  }
  return option;
}

// Templates for the reason that `read_option` is one.
template <class Vector = std::vector<std::byte>>
Vector bytes_of(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return Vector(first, first + text.size());
}

/// OptionValue. Depends on a backend's class, so that a compiler looks into it when `get_option` is
/// called and not where it is defined.
template <class>
struct OptionValueOf {
  using Type = OptionValue;
};

template <class Value = OptionValue>
Value option_value_of(const StoredOption& value) {
  switch (value.type) {
    case TENON_OPTION_BOOL:
      return Value(std::in_place_index<0>, value.integer != 0);
    case TENON_OPTION_INT:
      return Value(std::in_place_index<1>, value.integer);
    case TENON_OPTION_DOUBLE:
      return Value(std::in_place_index<2>, value.real);
    case TENON_OPTION_STRING:
      return Value(std::in_place_index<3>, value.text);
    default:
      return Value(std::in_place_index<4>, bytes_of(value.text));
  }
}

/// The values of all options of a backend, in the order of their declarations. Not a std::vector,
/// whose copies and growth are a hundred functions in each plugin.
class StoredOptions {
 public:
  StoredOptions() noexcept = default;
  /// The initial values.
  explicit StoredOptions(OptionTable specs) : StoredOptions(specs.count) {
    for (std::size_t i = 0; i < count_; ++i) {
      // They come from constants of the right type, so reading them cannot fail.
      (void)store_option(to_abi(specs[i]).initial, values_[i]);
    }
  }
  StoredOptions(const StoredOptions& other) : StoredOptions(other.count_) {
    for (std::size_t i = 0; i < count_; ++i) values_[i] = other.values_[i];
  }
  StoredOptions(StoredOptions&& other) noexcept
      : values_(std::exchange(other.values_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  StoredOptions& operator=(StoredOptions other) noexcept {
    std::swap(values_, other.values_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~StoredOptions() { delete[] values_; }

  [[nodiscard]] StoredOption& operator[](std::size_t index) noexcept { return values_[index]; }
  [[nodiscard]] const StoredOption& operator[](std::size_t index) const noexcept {
    return values_[index];
  }

 private:
  explicit StoredOptions(std::size_t count)
      : values_(count != 0 ? new StoredOption[count] : nullptr), count_(count) {}

  StoredOption* values_ = nullptr;
  std::size_t count_ = 0;
};

/// Overwrites `values` with the options that were given for one load.
inline Status read_runtime_specs(OptionTable specs, const InitContext& context,
                                 StoredOptions& values) {
  for (std::size_t i = 0; i < context.num_runtime_specs(); ++i) {
    const tenon_option& option = context.runtime_spec(i);
    TENON_TRY(const std::size_t index, find_option(specs, option.key));
    TENON_RETURN_IF_ERROR(store_checked(specs[index], option, TENON_OPTION_AT_LOAD, values[index]));
  }
  return ok();
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
    requires(detail::option_type_of<T> != 0)
  [[nodiscard]] Result<T> get(std::string_view key) const {
    TENON_TRY(const std::size_t index, detail::find_option(detail::option_table<Derived>(), key));
    const detail::StoredOption& value = values_[index];
    if (value.type != detail::option_type_of<T>) {
      return error(Error::InvalidType, "option '", key, "' is declared as ",
                   option_type_name(value.type));
    }
    if constexpr (std::is_same_v<T, bool>) {
      return value.integer != 0;
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      return value.integer;
    } else if constexpr (std::is_same_v<T, double>) {
      return value.real;
    } else if constexpr (std::is_same_v<T, std::string>) {
      return value.text;
    } else {
      return detail::bytes_of(value.text);
    }
  }

 private:
  template <class>
  friend class WithOptions;
  detail::StoredOptions values_;
};

/// Mixin: the backend has options. The author declares them,
///
///     static constexpr std::array options{
///         tenon::OptionSpec{"threads", 1, "worker threads"}};
///
/// reads them in `init` with `TENON_TRY(auto options, option_values(context));`, and may add
/// `Status on_set_option(std::string_view key, const OptionView& value)` to act on a change or
/// refuse it. Unknown keys and values of the wrong type are refused before the author's code runs.
/// Any thread.
template <class Derived>
class WithOptions {
 public:
  /// The values for this load.
  [[nodiscard]] Result<OptionValues<Derived>> option_values(const InitContext& context) const {
    OptionValues<Derived> out = option_values();
    TENON_RETURN_IF_ERROR(
        detail::read_runtime_specs(detail::option_table<Derived>(), context, out.values_));
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
    TENON_TRY(const std::size_t index,
              detail::find_option(detail::option_table<Derived>(), option.key));
    detail::StoredOption value;
    TENON_RETURN_IF_ERROR(
        detail::store_checked(Derived::options[index], option, TENON_OPTION_AT_RUNTIME, value));
    if constexpr (requires(Derived& backend, const OptionView& given) {
                    { backend.on_set_option(std::string_view(), given) } -> std::same_as<Status>;
                  }) {
      const tenon_option given = detail::present_option(option.key, value);
      TENON_RETURN_IF_ERROR(
          static_cast<Derived&>(*this).on_set_option(option.key, OptionView(given)));
    }
    const std::lock_guard lock(mutex_);
    values_[index] = std::move(value);
    return ok();
  }

  /// The value set for the backend. NotFound for an unknown key.
  [[nodiscard]] Result<OptionValue> get_option(std::string_view key) const {
    TENON_TRY(const std::size_t index, detail::find_option(detail::option_table<Derived>(), key));
    const std::lock_guard lock(mutex_);
    return detail::option_value_of<typename detail::OptionValueOf<Derived>::Type>(values_[index]);
  }

  /// Sends the value set for the backend to `sink`, as extension "tenon.options/1" does.
  [[nodiscard]] Status send_option(const char* key, tenon_option_sink sink,
                                   void* sink_context) const {
    TENON_TRY(const std::size_t index, detail::find_option(detail::option_table<Derived>(), key));
    detail::StoredOption value;
    {
      const std::lock_guard lock(mutex_);
      value = values_[index];
    }
    const tenon_option option = detail::present_option(key, value);
    sink(sink_context, &option);
    return ok();
  }

 protected:
  WithOptions() : values_(detail::option_table<Derived>()) {}
  ~WithOptions() = default;

 private:
  mutable std::mutex mutex_;
  detail::StoredOptions values_;
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
