// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/options.h"
#include "tenon/backend/context.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Declaration of one option of a backend: its key, its initial value (which also is its type), a
/// description of one line, and where it may be given. Limits, choices, a unit and deprecation
/// follow as calls:
///
///     tenon::OptionSpec{"threads", 1, "worker threads"}.between(1, 16)
///     tenon::OptionSpec{"device", "cpu", "device of all models"}.one_of("cpu", "gpu")
///
/// Other values are refused before the author's code sees them.
struct OptionSpec {
  static constexpr std::size_t max_choices = 16;

  const char* key;
  OptionView initial;
  const char* description;
  std::uint32_t where = TENON_OPTION_AT_RUNTIME | TENON_OPTION_AT_LOAD;
  // Set by the functions below.
  tenon_option minimum{};  ///< Of type 0: no limit.
  tenon_option maximum{};
  std::array<const char*, max_choices> choices{};
  std::uint32_t num_choices = 0;  ///< 0: any value.
  const char* unit = nullptr;
  bool is_deprecated = false;

  /// Numbers from `least` to `most`, both allowed.
  template <detail::OptionSource T>
  [[nodiscard]] constexpr OptionSpec between(const T& least, const T& most) const {
    return at_least(least).at_most(most);
  }
  template <detail::OptionSource T>
  [[nodiscard]] constexpr OptionSpec at_least(const T& least) const {
    OptionSpec out = *this;
    out.minimum = OptionView(least).option(key);
    return out;
  }
  template <detail::OptionSource T>
  [[nodiscard]] constexpr OptionSpec at_most(const T& most) const {
    OptionSpec out = *this;
    out.maximum = OptionView(most).option(key);
    return out;
  }
  /// Texts, all that the option can have.
  template <std::convertible_to<const char*>... Text>
    requires(sizeof...(Text) > 0 && sizeof...(Text) <= max_choices)
  [[nodiscard]] constexpr OptionSpec one_of(Text... texts) const {
    OptionSpec out = *this;
    out.choices = {texts...};
    out.num_choices = sizeof...(Text);
    return out;
  }
  /// Unit of the value: "ms", "bytes".
  [[nodiscard]] constexpr OptionSpec in(const char* unit_of_value) const {
    OptionSpec out = *this;
    out.unit = unit_of_value;
    return out;
  }
  /// Still works, and will be removed; the description says what to use instead.
  [[nodiscard]] constexpr OptionSpec deprecated() const {
    OptionSpec out = *this;
    out.is_deprecated = true;
    return out;
  }
};

namespace detail {

template <class B>
concept NamesOnSetOption = requires(B& backend, const OptionView& value) {
  backend.on_set_option(std::string_view(), value);
} || requires { &B::on_set_option; };
template <class B>
concept HasOnSetOption = requires(B& backend, const OptionView& value) {
  { backend.on_set_option(std::string_view(), value) } -> std::same_as<Status>;
};

template <class B>
concept DeclaresOptions = requires {
  typename std::bool_constant<(std::size(B::options), true)>;
} && std::same_as<std::remove_cvref_t<decltype(B::options[0])>, OptionSpec>;

/// A `get_option` of the author's in place of the inherited one. A function that is private, or
/// takes something else, is the backend's own.
template <class B>
concept HasGetOption = requires(B& backend, const char* key) {
  { backend.get_option(key) } -> std::same_as<Result<OptionValue>>;
};

/// Index of `key` among `specs`, or NotFound with the keys of `specs`.
inline Result<std::size_t> find_option(std::span<const OptionSpec> specs, std::string_view key) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (key == specs[i].key) return i;
  }
  return unknown_option(key, join(specs, ", ", [](const OptionSpec& spec) { return spec.key; }));
}

/// Whether the declaration has values of its option's type as limits, and choices for text alone.
[[nodiscard]] constexpr bool has_limits_of_its_type(const OptionSpec& spec) noexcept {
  const std::uint32_t type = spec.initial.type();
  const auto fits = [&](const tenon_option& limit) {
    return limit.type == 0 ||
           (limit.type == type && (type == TENON_OPTION_INT || type == TENON_OPTION_DOUBLE));
  };
  return fits(spec.minimum) && fits(spec.maximum) &&
         (spec.num_choices == 0 || type == TENON_OPTION_STRING);
}

/// Whether a number is within the limits of `spec`, whose type it has. NaN is outside of each.
[[nodiscard]] constexpr bool is_within_limits(const OptionSpec& spec,
                                              const tenon_option& value) noexcept {
  const bool has_minimum = spec.minimum.type != 0;
  const bool has_maximum = spec.maximum.type != 0;
  if (value.type == TENON_OPTION_INT) {
    return (!has_minimum || value.as.integer >= spec.minimum.as.integer) &&
           (!has_maximum || value.as.integer <= spec.maximum.as.integer);
  }
  if (value.type != TENON_OPTION_DOUBLE) return true;
  return (!has_minimum || value.as.real >= spec.minimum.as.real) &&
         (!has_maximum || value.as.real <= spec.maximum.as.real);
}

/// Refuses a value of the type of `spec` that it excludes.
[[nodiscard]] inline Status check_declared(const OptionSpec& spec, const tenon_option& option) {
  const std::span choices = std::span(spec.choices).first(spec.num_choices);
  const OptionView value(option);
  const auto text = value.string();
  const bool is_chosen =
      !text || choices.empty() || std::ranges::find(choices, *text) != choices.end();
  if (is_chosen && is_within_limits(spec, option)) return ok();
  const auto limit = [](const tenon_option& of) {
    return of.type == 0 ? std::nullopt : std::optional<OptionView>(OptionView(of));
  };
  return error(Error::InvalidArgument, "option '", spec.key, "': expected ",
               option_range(limit(spec.minimum), limit(spec.maximum), choices), ", found ",
               option_text(value));
}

/// Index among `specs` of an option that is given at `place`, TENON_OPTION_AT_..., after checking
/// that it is declared: its key, its type, its place and its value.
inline Result<std::size_t> find_given(std::span<const OptionSpec> specs, const tenon_option& option,
                                      std::uint32_t place) {
  TENON_TRY(const std::size_t index, find_option(specs, option.key));
  const OptionSpec& spec = specs[index];
  TENON_RETURN_IF_ERROR(
      check_use(spec.key, {spec.initial.type(), spec.where}, {option.type, place}));
  TENON_RETURN_IF_ERROR(check_declared(spec, option));
  TENON_RETURN_IF_ERROR(check_option(option));
  return index;
}

inline std::vector<OptionValue> initial_values(std::span<const OptionSpec> specs) {
  std::vector<OptionValue> out(specs.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = specs[i].initial;
  return out;
}

/// Checks the options that were given for one load, or for one session, and overwrites `values`
/// with them, unless it is null.
template <class Context>
Status read_runtime_specs(std::span<const OptionSpec> specs, const Context& context,
                          std::vector<OptionValue>* values) {
  for (std::size_t i = 0; i < context.num_runtime_specs(); ++i) {
    const tenon_option& option = context.runtime_spec(i);
    TENON_TRY(const std::size_t index, find_given(specs, option, TENON_OPTION_AT_LOAD));
    if (values) (*values)[index] = OptionView(option);
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
  [[nodiscard]] Result<T> get(std::string_view key) const {
    TENON_TRY(const std::size_t index, detail::find_option(Derived::options, key));
    if (auto value = values_[index].template get<T>()) return *std::move(value);
    return error(Error::InvalidType, "option '", key, "' is declared as ",
                 option_type_name(values_[index].type()));
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
/// `Status on_set_option(std::string_view key, const OptionView& value)` to act on a change or
/// refuse it. Unknown keys and values of the wrong type are refused before the author's code runs.
/// Any thread.
template <class Derived>
class WithOptions {
 public:
  /// The values for this load.
  [[nodiscard]] Result<OptionValues<Derived>> option_values(const InitContext& context) const {
    OptionValues<Derived> out = option_values();
    TENON_RETURN_IF_ERROR(detail::read_runtime_specs(Derived::options, context, &out.values_));
    return out;
  }

  /// The values for a session of a delegate that was loaded with `loaded`; `context` is a
  /// SessionContext.
  template <class Context>
  [[nodiscard]] Result<OptionValues<Derived>> option_values(const Context& context,
                                                            OptionValues<Derived> loaded) const {
    TENON_RETURN_IF_ERROR(detail::read_runtime_specs(Derived::options, context, &loaded.values_));
    return loaded;
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
              detail::find_given(Derived::options, option, TENON_OPTION_AT_RUNTIME));
    const OptionView given(option);
    OptionValue value = given;
    if constexpr (detail::HasOnSetOption<Derived>) {
      TENON_RETURN_IF_ERROR(static_cast<Derived&>(*this).on_set_option(option.key, given));
    }
    const std::lock_guard lock(mutex_);
    values_[index] = std::move(value);
    return ok();
  }

  /// The value set for the backend. NotFound for an unknown key. A function of the author's with
  /// this name and result takes its place.
  [[nodiscard]] Result<OptionValue> get_option(std::string_view key) const {
    TENON_TRY(const std::size_t index, detail::find_option(Derived::options, key));
    const std::lock_guard lock(mutex_);
    return values_[index];
  }

 protected:
  WithOptions() : values_(detail::initial_values(Derived::options)) {}
  ~WithOptions() = default;

 private:
  mutable std::mutex mutex_;
  std::vector<OptionValue> values_;
};

namespace detail {

template <class B>
inline constexpr auto initial_options = [] {
  std::array<tenon_option, std::size(B::options)> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = B::options[i].initial.option(B::options[i].key);
  }
  return out;
}();

template <class B>
inline constexpr auto option_specs = [] {
  std::array<tenon_option_spec, std::size(B::options)> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const OptionSpec& spec = B::options[i];
    out[i].struct_size = sizeof(tenon_option_spec);
    out[i].flags = spec.where;
    if (spec.is_deprecated) out[i].flags |= TENON_OPTION_DEPRECATED;
    out[i].description = spec.description;
    out[i].unit = spec.unit;
    out[i].initial = &initial_options<B>[i];
    out[i].minimum = spec.minimum.type == 0 ? nullptr : &spec.minimum;
    out[i].maximum = spec.maximum.type == 0 ? nullptr : &spec.maximum;
    out[i].choices = spec.num_choices == 0 ? nullptr : spec.choices.data();
    out[i].num_choices = spec.num_choices;
  }
  return out;
}();

template <class B>
struct OptionsExtension {
  static consteval bool check() {
    if constexpr (!DeclaresOptions<B>) {
      static_assert(always_false<B>,
                    "tenon: WithOptions needs a public "
                    "`static constexpr std::array options{tenon::OptionSpec{...}};`");
    } else if constexpr (NamesOnSetOption<B> && !HasOnSetOption<B>) {
      static_assert(always_false<B>,
                    "tenon: the backend's `on_set_option` must be `tenon::Status "
                    "on_set_option(std::string_view, const tenon::OptionView&)`");
    } else if constexpr (!std::ranges::all_of(B::options, has_limits_of_its_type)) {
      static_assert(always_false<B>,
                    "tenon: the limits of an option must have the type of its initial value (1.0 "
                    "for a double), and `one_of` is for text alone");
    } else if constexpr (!std::ranges::all_of(B::options, [](const OptionSpec& spec) {
                           return is_within_limits(spec, spec.initial.option(spec.key));
                         })) {
      static_assert(always_false<B>, "tenon: an option's initial value is outside of its limits");
    } else {
      return true;
    }
    return false;
  }

  static tenon_status set_option(tenon_backend* backend, const tenon_option* option) noexcept {
    return guard(host_of<B>(backend), [&] {
      WithOptions<B>& options = self<B>(backend);
      return options.set_option(*option);
    });
  }

  static tenon_status get_option(tenon_backend* backend, const char* key, tenon_option_sink sink,
                                 void* sink_context) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      const auto find = [&] {
        if constexpr (HasGetOption<B>) {
          return self<B>(backend).get_option(key);
        } else {
          return self<B>(backend).WithOptions<B>::get_option(key);
        }
      };
      TENON_TRY(const OptionValue value, find());
      const tenon_option option = write_option(key, value);
      sink(sink_context, &option);
      return ok();
    });
  }

  static constexpr tenon_options_v1 table = {sizeof(tenon_options_v1),
                                             static_cast<std::uint32_t>(std::size(B::options)),
                                             option_specs<B>.data(), &set_option, &get_option};
};

template <>
struct MixinOf<tenon_options_v1> : Mixin<WithOptions, OptionsExtension> {};

/// Refuses options of a load or a session that backend `B` does not declare, also where its author
/// does not ask for them.
template <class B, class Context>
Status check_runtime_specs(const Context& context) {
  if constexpr (HasMixin<B, tenon_options_v1>) {
    return read_runtime_specs(B::options, context, nullptr);
  } else {
    if (context.num_runtime_specs() == 0) return ok();
    return unknown_option(context.runtime_spec(0).key);
  }
}

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
