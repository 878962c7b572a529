// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>

#include "coverage/coverage.hpp"
#include "kit/report/escape.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

using Row = std::map<std::string, Coverage>;

constexpr std::array<std::string_view, num_coverages> meanings = {
    "the backend took the operator, and its result is PyTorch's within the kit's limits",
    "not asked; programs of cases that have the operator gave their expected results",
    "the result is another than PyTorch's, or a case that has the operator failed",
    "the backend took the operator, and then failed to compile, load or run it",
    "the process ended or hung",
    "the backend left the operator to others"};

bool has_any(const Row& row) {
  return std::ranges::any_of(row,
                             [](const auto& cell) { return cell.second != Coverage::not_taken; });
}

std::string counts_text(const CoverageMatrix& matrix) {
  std::array<std::size_t, num_coverages> counts{};
  std::size_t core = 0, rows = 0;
  for (const auto& [name, row] : matrix.cells) {
    for (const auto& [dtype, coverage] : row) ++counts[static_cast<std::size_t>(coverage)];
    if (!has_any(row)) continue;
    ++rows;
    if (matrix.core.contains(name)) ++core;
  }
  std::string out = concat(rows, " operators (", core, " of the ", matrix.core.size(),
                           " core ATen operators that the kit has recorded)");
  for (std::size_t i = 0; i < num_coverages; ++i) {
    if (counts[i] == 0) continue;
    out += concat("; ", counts[i], " cells ", coverage_name(static_cast<Coverage>(i)));
  }
  return out;
}

std::string origin_text(const CoverageMatrix& matrix) {
  return matrix.asked ? "The backend was asked about each operator by itself."
                      : "The backend has no compiler in its plugin that could be asked: the matrix "
                        "comes from its cases.";
}

/// The text of a cell; empty for what was not asked, because PyTorch does not have it.
std::string_view cell_text(const Row& row, const std::string& dtype) {
  const auto found = row.find(dtype);
  return found == row.end() ? std::string_view() : coverage_name(found->second);
}

std::vector<std::string> rows_without(const CoverageMatrix& matrix) {
  std::vector<std::string> out;
  for (const auto& [name, row] : matrix.cells) {
    if (!has_any(row)) out.push_back(name);
  }
  return out;
}

std::string file_name(const CoverageMatrix& matrix) {
  return host::path_text(host::path_of(matrix.plugin).filename());
}

std::string matrix_markdown(const CoverageMatrix& matrix) {
  std::string out =
      concat("## ", escape::markdown(matrix.backend), " in ", escape::markdown(file_name(matrix)),
             "\n\n", origin_text(matrix), " ", counts_text(matrix), ".\n\n| operator |");
  for (const std::string& dtype : matrix.dtypes) out += " " + dtype + " |";
  out += "\n|---|";
  for (std::size_t i = 0; i < matrix.dtypes.size(); ++i) out += "---|";
  out += "\n";
  for (const auto& [name, row] : matrix.cells) {
    if (!has_any(row)) continue;
    out += concat("| ", escape::markdown(name), matrix.core.contains(name) ? "" : " \\*", " |");
    for (const std::string& dtype : matrix.dtypes) {
      const std::string_view text = cell_text(row, dtype);
      out += text == "not taken" ? " - |" : text.empty() ? "  |" : concat(" ", text, " |");
    }
    out += "\n";
  }
  out += "\n";
  if (const auto none = rows_without(matrix); !none.empty()) {
    out += concat("Not taken in any dtype (", none.size(), "):");
    for (std::size_t i = 0; i < none.size(); ++i) {
      out += concat(i == 0 ? " " : ", ", escape::markdown(none[i]));
    }
    out += ".\n\n";
  }
  for (const auto& [name, reason] : matrix.reasons) {
    out += concat("- ", escape::markdown(name), ": ", escape::markdown(reason), "\n");
  }
  if (!matrix.reasons.empty()) out += "\n";
  return out;
}

std::string matrix_html(const CoverageMatrix& matrix) {
  std::string out = concat("<h2>", escape::markup(matrix.backend), " in ",
                           escape::markup(file_name(matrix)), "</h2>\n<p>", origin_text(matrix),
                           " ", counts_text(matrix), ".</p>\n<table><thead><tr><th>operator</th>");
  for (const std::string& dtype : matrix.dtypes) out += "<th>" + dtype + "</th>";
  out += "</tr></thead><tbody>\n";
  for (const auto& [name, row] : matrix.cells) {
    out +=
        concat("<tr><th>", escape::markup(name), matrix.core.contains(name) ? "" : " *", "</th>");
    for (const std::string& dtype : matrix.dtypes) {
      const std::string_view text = cell_text(row, dtype);
      const std::string_view kind = text == "right" || text == "in cases" ? "good"
                                    : text == "not taken"                 ? "none"
                                    : text.empty()                        ? ""
                                                                          : "bad";
      out += concat("<td class=\"", kind, "\">", text, "</td>");
    }
    out += "</tr>\n";
  }
  out += "</tbody></table>\n";
  if (!matrix.reasons.empty()) out += "<ul>\n";
  for (const auto& [name, reason] : matrix.reasons) {
    out += concat("<li>", escape::markup(name), ": ", escape::markup(reason), "</li>\n");
  }
  if (!matrix.reasons.empty()) out += "</ul>\n";
  return out;
}

}  // namespace

std::string coverage_markdown(const std::vector<CoverageMatrix>& matrices) {
  std::string out = "# Coverage\n\n| cell | meaning |\n|---|---|\n";
  for (std::size_t i = 0; i < num_coverages; ++i) {
    const auto name = coverage_name(static_cast<Coverage>(i));
    out += concat("| ", name == "not taken" ? "-" : name, " | ", meanings[i], " |\n");
  }
  out +=
      "| (empty) | PyTorch does not have the operator in this dtype, or no case has it |\n\n"
      "An operator with \\* is none of the core ATen operators.\n\n";
  for (const CoverageMatrix& matrix : matrices) out += matrix_markdown(matrix);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

std::string coverage_html(const std::vector<CoverageMatrix>& matrices) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Coverage</title>\n"
      "<style>body{font:15px sans-serif;margin:2em}table{border-collapse:collapse}"
      "th,td{border:1px solid #ccc;padding:2px 6px;text-align:left}"
      "thead th{position:sticky;top:0;background:#fff}.good{background:#dfd}.bad{background:#fcc}"
      ".none{color:#777}</style></head><body>\n<h1>Coverage</h1>\n<dl>\n";
  for (std::size_t i = 0; i < num_coverages; ++i) {
    out += concat("<dt>", coverage_name(static_cast<Coverage>(i)), "</dt><dd>", meanings[i],
                  "</dd>\n");
  }
  out +=
      "<dt>(empty)</dt><dd>PyTorch does not have the operator in this dtype, or no case has it"
      "</dd></dl>\n<p>An operator with * is none of the core ATen operators.</p>\n";
  for (const CoverageMatrix& matrix : matrices) out += matrix_html(matrix);
  return out + "</body></html>\n";
}

}}}  // namespace tenon::TENON_RELEASE::conformance
