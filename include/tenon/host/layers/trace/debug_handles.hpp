// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The debug handles of a method, as a program may have them: the ahead-of-time compiler writes
/// them
/// (`aot::EmitOptions::debug_handles`), the host reads them (`Method::intermediates`). They are
/// named data of this key + the method's name, which other runtimes do not ask for: lines of text,
///
///     tenon.debug_handles/1
///     node HANDLE NAME                a node of the exported program
///     kernel INSTRUCTION HANDLE       the node whose kernel the instruction calls
///     event DELEGATE ID HANDLE...     the nodes of an event that the backend names by number
///     named DELEGATE COUNT HANDLE... NAME     the nodes of an event that it names by text
///
/// where INSTRUCTION counts through all chains of the method, from 0. A name ends with its line.
inline constexpr std::string_view debug_handles_key = "tenon.debug_handles/";
inline constexpr std::string_view debug_handles_format = "tenon.debug_handles/1";

}}}  // namespace tenon::TENON_RELEASE::host
