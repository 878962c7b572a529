// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/host/backend_registry.hpp"
#include "tenon/host/signatures.hpp"

namespace tenon::list {

/// One backend that was found, or a file that was refused before its backends were known.
struct Entry {
  host::BackendInfo info;
  /// Why it is left out without --all: a tag ("debug") or a state ("shadowed"). Empty: it is not.
  std::string_view hidden_as;
  /// Who signed the file, or why that cannot be checked. Null without publishers, and for what is
  /// no file.
  std::shared_ptr<const Result<host::SignatureReport>> signature{};
};

/// The known backends, and where they were searched. None of them is loaded.
struct Listing {
  /// Sorted by id; of one id first the backend that is taken. Refused files come last.
  std::vector<Entry> entries;
  std::vector<host::SearchPath> search_paths;  ///< In the order of the search.
  std::vector<std::string> tags;               ///< What was asked for.
  std::vector<std::string> all_tags;           ///< Of all backends that were found, sorted.
  std::size_t num_found = 0;                   ///< Entries, with those that lack the tags.
};

/// Asks `registry` for everything that has all of `tags`. A refused file has no tags. Who asks for
/// a tag that hides backends, such as "debug", wants to see them: it does not hide them then.
///
/// With `policy`, which may be null, each file is read and its signature checked.
[[nodiscard]] Listing make_listing(const host::BackendRegistry& registry,
                                   std::vector<std::string> tags,
                                   const host::SignaturePolicy* policy = nullptr);

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
