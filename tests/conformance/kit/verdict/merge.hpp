// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "tenon/conformance/result.hpp"
#include "tenon/core/result.hpp"

/// Merges the reports of the shards of one run, which different machines may have made.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// A report and the name of its file, for messages.
struct NamedReport {
  std::string name;
  Report report;
};

/// The report that one run without `--shard` would have written: each planned test once, in the
/// planned order. It began with the first shard; its seconds are the sum of theirs, and `machine`
/// has each machine once. Reports may be given in any order. A plugin may have another path on each
/// machine; the first report's is kept.
///
/// errors: InvalidArgument, with all differences, when a report is not of a shard, when
///         the shards differ in the kit's version, the ABI's, seed, level, number of parts, plugins
///         (SHA-256) or planned tests, and when a planned test is missing, is there twice, or a
///         test is there that is not planned.
[[nodiscard]] Result<Report> merge(std::vector<NamedReport> parts);

}}}  // namespace tenon::TENON_RELEASE::conformance
