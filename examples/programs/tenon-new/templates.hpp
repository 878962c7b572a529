// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/result.hpp"

namespace tenon::make_new {

/// One directory that can be copied.
struct Template {
  std::string name;
  std::filesystem::path directory;
  std::string description;  ///< The first line of its README that is not a heading.
};

/// Where a program looks for the templates.
struct TemplatePlaces {
  const char* from_bin;   ///< From the program's own directory, wherever that was moved to.
  const char* installed;  ///< Where the build that made the program installs them.
};

/// The directory that holds the templates: what $TENON_TEMPLATES names; without it the first of
/// `places` that exists. NotFound names all that was tried.
[[nodiscard]] Result<std::filesystem::path> find_templates(const TemplatePlaces& places);

/// The templates in a directory, by name. NotFound when there is none.
[[nodiscard]] Result<std::vector<Template>> list_templates(const std::filesystem::path& directory);

/// The template with that name. NotFound names those that there are.
[[nodiscard]] Result<Template> find_template(const std::filesystem::path& directory,
                                             std::string_view name);

}  // namespace tenon::make_new
