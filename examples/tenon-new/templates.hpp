// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"

namespace tenon::make_new {

/// One folder that can be copied.
struct Template {
  std::string name;
  std::filesystem::path folder;
  std::string description;  ///< The first line of its README that is no heading.
};

/// The folder that holds the templates: what $TENON_TEMPLATES names; without it
/// share/tenon/templates beside this program's bin, as it is installed, wherever that was moved
/// to; and then the folder of the build that made this program. NotFound names all that was tried.
[[nodiscard]] Result<std::filesystem::path> find_templates();

/// The templates in a folder, by name. NotFound when there is none.
[[nodiscard]] Result<std::vector<Template>> list_templates(const std::filesystem::path& folder);

/// The template with that name. NotFound names those that there are.
[[nodiscard]] Result<Template> find_template(const std::filesystem::path& folder,
                                             std::string_view name);

}  // namespace tenon::make_new
