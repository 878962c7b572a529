// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/backend.hpp"

namespace tenon::run {

/// `--option BACKEND.KEY=VALUE`, taken apart.
struct OptionArgument {
  std::string backend;
  std::string key;
  std::string value;
};

/// Takes an argument apart. `backend_ids` are those that the method uses: an id may hold dots, so
/// the longest of them that the argument begins with is meant. InvalidArgument when there is none,
/// or no key, or no '='.
[[nodiscard]] Result<OptionArgument> split_option(std::string_view text,
                                                  std::span<const std::string> backend_ids);

/// The value in the type that the backend declares for the key, as `parse_option` reads it.
/// NotFound for a key that is not among `declarations`, NotSupported for a key that cannot be set
/// for a load, InvalidType for a value of another type. A backend that declares nothing gets the
/// type that the text looks like (`guess_option`).
[[nodiscard]] Result<OptionValue> option_value(
    const OptionArgument& option, std::span<const host::OptionDeclaration> declarations);

}  // namespace tenon::run
