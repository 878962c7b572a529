// SPDX-License-Identifier: MIT
#include "listing.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

#include "tenon/host/platform/trusted_path.hpp"

namespace tenon::list {
namespace {

using host::BackendInfo;
using host::BackendState;

bool contains(std::span<const std::string> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool can_be_used(BackendState state) {
  return state == BackendState::known || state == BackendState::loaded;
}

std::string_view hidden_as(const BackendInfo& info, std::span<const std::string> asked_tags) {
  if (!can_be_used(info.state)) return state_name(info.state);
  for (const std::string_view tag : host::BackendRegistry::default_exclude_tags) {
    if (contains(info.backend()->tags, tag) && !contains(asked_tags, tag)) return tag;
  }
  return {};
}

Result<host::SignatureReport> signature_of(const host::PluginSource& source,
                                           const host::SignaturePolicy& policy) {
  TENON_TRY(const host::OpenedFile file, host::open_file(source.path, host::Trust::checked));
  return policy.examine(file, source.signature);
}

auto place_in_list(const Entry& entry) {
  const BackendInfo& info = entry.info;
  return std::tuple(info.backend() == nullptr, info.id(), !can_be_used(info.state));
}

}  // namespace

Listing make_listing(const host::BackendRegistry& registry, std::vector<std::string> tags,
                     const host::SignaturePolicy* policy) {
  Listing listing;
  // A file may have several backends.
  std::map<const host::PluginSource*, std::shared_ptr<const Result<host::SignatureReport>>> checked;
  std::vector<BackendInfo> found = registry.enumerate_backends();
  listing.num_found = found.size();
  for (BackendInfo& info : found) {
    std::span<const std::string> own;
    if (const auto* backend = info.backend()) own = backend->tags;
    for (const std::string& tag : own) {
      if (!contains(listing.all_tags, tag)) listing.all_tags.push_back(tag);
    }
    if (!std::ranges::all_of(tags, [&](const auto& tag) { return contains(own, tag); })) continue;
    const std::string_view hidden = hidden_as(info, tags);
    const auto source = info.source;
    Entry& entry = listing.entries.emplace_back(Entry{std::move(info), hidden});
    if (!policy || source->path.empty()) continue;
    auto& signature = checked[source.get()];
    if (!signature) {
      signature =
          std::make_shared<const Result<host::SignatureReport>>(signature_of(*source, *policy));
    }
    entry.signature = signature;
  }
  std::ranges::sort(listing.all_tags);
  std::ranges::stable_sort(listing.entries, {}, place_in_list);
  listing.search_paths = registry.search_paths();
  listing.tags = std::move(tags);
  return listing;
}

}  // namespace tenon::list
