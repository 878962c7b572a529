// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/abi/version.h"
#include "tenon/host/schema/forward.hpp"

/// The roles of the arguments of a delegate's calls. Neither the boundary ("inputs, then outputs")
/// nor the program states them, but the order of the program's instructions shows most of them.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

enum class Role : std::uint8_t {
  input,   ///< Has a value before the call: from the caller, the program or an earlier instruction.
  output,  ///< An output of the method that no earlier instruction has written.
  either,  ///< Anything else: values for later instructions, and state.
};

/// The role of one argument, or of each item of a list.
struct ArgumentRole {
  Role role = Role::either;
  std::vector<Role> items;
};

/// The roles of the arguments of each call that one run of the method makes into backend
/// `backend_id`, in the order of the calls. Empty when the order depends on a condition.
[[nodiscard]] std::vector<std::vector<ArgumentRole>> find_roles(const schema::ExecutionPlan& plan,
                                                                std::string_view backend_id);

}}}  // namespace tenon::TENON_RELEASE::conformance
