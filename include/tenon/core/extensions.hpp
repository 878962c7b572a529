// SPDX-License-Identifier: MIT
//
// The list of the extensions that a backend may have, for code that treats each in the same way:
// the SDK's mixins, the conformance kit, plugins that wrap a plugin. A new extension is described
// here once, and added to `BackendExtensions` below.
// tests/abi/extensions_test.py compares this list with the headers of tenon/abi.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/abi/tenon.h"

namespace tenon { inline namespace TENON_RELEASE {

template <class...>
struct TypeList {};

namespace detail {

template <template <class...> class To, class List>
struct Converted;
template <template <class...> class To, class... Types>
struct Converted<To, TypeList<Types...>> {
  using type = To<Types...>;
};

}  // namespace detail

/// Another template with the types of a list: `ListTo<std::tuple, BackendExtensions>`.
template <template <class...> class To, class List>
using ListTo = typename detail::Converted<To, List>::type;

/// Whether the table of an extension may still change (abi/draft) or only grows (abi/extensions).
enum class ExtensionStage : std::uint8_t { frozen, draft };

namespace detail {

/// The name of a function, as an argument of a template.
template <std::size_t Size>
struct FunctionName {
  char text[Size] = {};

  // NOLINTNEXTLINE(google-explicit-constructor): a literal is such an argument.
  consteval FunctionName(const char (&name)[Size]) { std::copy_n(name, Size, text); }
};

template <class Member>
struct MemberOf;
template <class TableOf, class TypeOf>
struct MemberOf<TypeOf TableOf::*> {
  using Table = TableOf;
  using Type = TypeOf;
};

}  // namespace detail

/// One function of a table: the member that points to it, and the member's name.
template <auto Member, detail::FunctionName Name, bool MayBeNull>
struct TableFunction {
  using Table = typename detail::MemberOf<decltype(Member)>::Table;
  using Type = typename detail::MemberOf<decltype(Member)>::Type;

  static constexpr auto member = Member;
  static constexpr const char* name = Name.text;
  static constexpr bool may_be_null = MayBeNull;  ///< The header says when it is.
};

template <auto Member, detail::FunctionName Name>
using Required = TableFunction<Member, Name, false>;
template <auto Member, detail::FunctionName Name>
using Optional = TableFunction<Member, Name, true>;

/// Describes the extension with this table: its id, its stage, and its functions in the order of
/// the table.
template <class Table>
struct BackendExtension;

template <>
struct BackendExtension<tenon_aoti_export_v1> {
  using Table = tenon_aoti_export_v1;
  static constexpr const char* id = TENON_EXTENSION_AOTI_EXPORT;
  static constexpr ExtensionStage stage = ExtensionStage::draft;
  using Functions = TypeList<Required<&Table::serves, "serves">>;
};

template <>
struct BackendExtension<tenon_options_v1> {
  using Table = tenon_options_v1;
  static constexpr const char* id = TENON_EXTENSION_OPTIONS;
  static constexpr ExtensionStage stage = ExtensionStage::frozen;
  using Functions = TypeList<Required<&Table::set_option, "set_option">,
                             Required<&Table::get_option, "get_option">>;
};

template <>
struct BackendExtension<tenon_check_blob_v1> {
  using Table = tenon_check_blob_v1;
  static constexpr const char* id = TENON_EXTENSION_CHECK_BLOB;
  static constexpr ExtensionStage stage = ExtensionStage::frozen;
  using Functions = TypeList<Required<&Table::check_blob, "check_blob">>;
};

template <>
struct BackendExtension<tenon_estimate_v1> {
  using Table = tenon_estimate_v1;
  static constexpr const char* id = TENON_EXTENSION_ESTIMATE;
  static constexpr ExtensionStage stage = ExtensionStage::frozen;
  using Functions = TypeList<Required<&Table::estimate, "estimate">,
                             Optional<&Table::free_memory, "free_memory">>;
};

template <>
struct BackendExtension<tenon_memory_info_v1> {
  using Table = tenon_memory_info_v1;
  static constexpr const char* id = TENON_EXTENSION_MEMORY_INFO;
  static constexpr ExtensionStage stage = ExtensionStage::frozen;
  using Functions = TypeList<Required<&Table::memory_info, "memory_info">>;
};

template <>
struct BackendExtension<tenon_sessions_v1> {
  using Table = tenon_sessions_v1;
  static constexpr const char* id = TENON_EXTENSION_SESSIONS;
  static constexpr ExtensionStage stage = ExtensionStage::frozen;
  using Functions = TypeList<Required<&Table::create_session, "create_session">>;
};

template <>
struct BackendExtension<tenon_devices_v1> {
  using Table = tenon_devices_v1;
  static constexpr const char* id = TENON_EXTENSION_DEVICES;
  static constexpr ExtensionStage stage = ExtensionStage::frozen;
  using Functions = TypeList<Required<&Table::list_devices, "list_devices">>;
};

template <>
struct BackendExtension<tenon_device_memory_v1> {
  using Table = tenon_device_memory_v1;
  static constexpr const char* id = TENON_EXTENSION_DEVICE_MEMORY;
  static constexpr ExtensionStage stage = ExtensionStage::frozen;
  using Functions = TypeList<Required<&Table::allocate, "allocate">, Required<&Table::free, "free">,
                             Required<&Table::copy_to_device, "copy_to_device">,
                             Required<&Table::copy_to_host, "copy_to_host">,
                             Optional<&Table::copy_on, "copy_on">>;
};

template <>
struct BackendExtension<tenon_streams_v1> {
  using Table = tenon_streams_v1;
  static constexpr const char* id = TENON_EXTENSION_STREAMS;
  static constexpr ExtensionStage stage = ExtensionStage::frozen;
  using Functions = TypeList<Required<&Table::set_stream, "set_stream">>;
};

template <>
struct BackendExtension<tenon_external_memory_v1> {
  using Table = tenon_external_memory_v1;
  static constexpr const char* id = TENON_EXTENSION_EXTERNAL_MEMORY;
  static constexpr ExtensionStage stage = ExtensionStage::draft;
  using Functions = TypeList<Required<&Table::import_memory, "import_memory">,
                             Required<&Table::release_memory, "release_memory">,
                             Optional<&Table::wait_fence, "wait_fence">,
                             Optional<&Table::signal_fence, "signal_fence">>;
};

template <>
struct BackendExtension<tenon_events_v1> {
  using Table = tenon_events_v1;
  static constexpr const char* id = TENON_EXTENSION_EVENTS;
  static constexpr ExtensionStage stage = ExtensionStage::frozen;
  using Functions =
      TypeList<Required<&Table::create_event, "create_event">, Required<&Table::start, "start">,
               Required<&Table::record, "record">, Required<&Table::wait, "wait">,
               Required<&Table::query, "query">, Required<&Table::wait_on, "wait_on">,
               Optional<&Table::export_handle, "export_handle">,
               Optional<&Table::import_handle, "import_handle">,
               Required<&Table::destroy_event, "destroy_event">,
               Optional<&Table::on_complete, "on_complete">>;
};

template <>
struct BackendExtension<tenon_cancel_v1> {
  using Table = tenon_cancel_v1;
  static constexpr const char* id = TENON_EXTENSION_CANCEL;
  static constexpr ExtensionStage stage = ExtensionStage::frozen;
  using Functions = TypeList<Required<&Table::cancel, "cancel">>;
};

template <>
struct BackendExtension<tenon_scheduling_v1> {
  using Table = tenon_scheduling_v1;
  static constexpr const char* id = TENON_EXTENSION_SCHEDULING;
  static constexpr ExtensionStage stage = ExtensionStage::frozen;
  using Functions = TypeList<Optional<&Table::set_scheduling, "set_scheduling">>;
};

template <>
struct BackendExtension<tenon_intermediates_v1> {
  using Table = tenon_intermediates_v1;
  static constexpr const char* id = TENON_EXTENSION_INTERMEDIATES;
  static constexpr ExtensionStage stage = ExtensionStage::draft;
  using Functions = TypeList<Required<&Table::list, "list">, Required<&Table::record, "record">>;
};

template <>
struct BackendExtension<tenon_sequence_v1> {
  using Table = tenon_sequence_v1;
  static constexpr const char* id = TENON_EXTENSION_SEQUENCE;
  static constexpr ExtensionStage stage = ExtensionStage::draft;
  using Functions =
      TypeList<Required<&Table::list, "list">, Optional<&Table::read, "read">,
               Optional<&Table::write, "write">, Optional<&Table::written, "written">>;
};

template <>
struct BackendExtension<tenon_kernels_v1> {
  using Table = tenon_kernels_v1;
  static constexpr const char* id = TENON_EXTENSION_KERNELS;
  static constexpr ExtensionStage stage = ExtensionStage::frozen;
  using Functions = TypeList<Required<&Table::list_operators, "list_operators">,
                             Required<&Table::create_kernel, "create_kernel">,
                             Required<&Table::run_kernel, "run_kernel">,
                             Required<&Table::destroy_kernel, "destroy_kernel">>;
};

template <>
struct BackendExtension<tenon_preprocess_v1> {
  using Table = tenon_preprocess_v1;
  static constexpr const char* id = TENON_EXTENSION_PREPROCESS;
  static constexpr ExtensionStage stage = ExtensionStage::draft;
  using Functions = TypeList<Required<&Table::partition, "partition">,
                             Required<&Table::ops_to_not_decompose, "ops_to_not_decompose">,
                             Required<&Table::preprocess, "preprocess">>;
};

/// The tables of all of them. A compiler reports the mistakes of a backend in this order.
using BackendExtensions =
    TypeList<tenon_aoti_export_v1, tenon_options_v1, tenon_check_blob_v1, tenon_estimate_v1,
             tenon_memory_info_v1, tenon_sessions_v1, tenon_devices_v1, tenon_device_memory_v1,
             tenon_streams_v1, tenon_external_memory_v1, tenon_events_v1, tenon_cancel_v1,
             tenon_scheduling_v1, tenon_intermediates_v1, tenon_sequence_v1, tenon_kernels_v1,
             tenon_preprocess_v1>;

namespace detail {

template <class... Tables>
consteval auto sorted_ids(TypeList<Tables...>) {
  std::array ids = {BackendExtension<Tables>::id...};
  std::sort(ids.begin(), ids.end(), [](const char* one, const char* other) {
    return std::string_view(one) < std::string_view(other);
  });
  return ids;
}

}  // namespace detail

/// Their ids, sorted.
inline constexpr std::array backend_extensions = detail::sorted_ids(BackendExtensions());

/// The id for which a host whose application admits libraries by a policy answers `get_extension`
/// with something other than null. No part of the boundary: isolated plugins and Tenon's own
/// backends ask for it. They then load no library by a path, and the variable TENON_WORKER does not
/// count.
inline constexpr const char* library_policy_id = "tenon.host.library_policy";

}}  // namespace tenon::TENON_RELEASE
