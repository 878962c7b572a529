// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "listing.hpp"

namespace tenon::list {

struct TextOptions {
  bool all = false;     ///< Also what is hidden by default, with the reason.
  bool places = false;  ///< Also where backends were searched.
  bool color = false;
};

/// A table for a person, and what it leaves out. Each line holds printable text only, whatever the
/// files are called.
[[nodiscard]] std::string to_text(const Listing& listing, const TextOptions& options);

/// One JSON object in one line of ASCII; docs/schemas/tenon-list.schema.json describes it. What is
/// hidden by default is in it and marked.
[[nodiscard]] std::string to_json(const Listing& listing);

}  // namespace tenon::list
