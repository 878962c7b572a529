// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "color.hpp"
#include "listing.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tool.hpp"

namespace tenon::list {
namespace {

using host::BackendInfo;
using host::BackendState;

constexpr std::size_t num_columns = 7;
using Cells = std::array<std::string, num_columns>;
constexpr std::array<std::string_view, num_columns> titles{"ID",       "STATE",  "PRIORITY", "TAGS",
                                                           "PAYLOADS", "PLUGIN", "ORIGIN"};
constexpr std::size_t state_column = 1;
constexpr std::size_t priority_column = 2;

std::string or_dash(std::string text) { return text.empty() ? "-" : printable(text); }

std::string payloads(const host::BackendRecord& backend) {
  const auto min = backend.min_payload_version;
  const auto max = backend.max_payload_version;
  if (max == 0) return "-";
  return min == max ? concat(max) : concat(min, "-", max);
}

std::string plugin_name(const host::PluginSource& source) {
  if (!source.record) return {};
  const auto& [name, version] = std::tie(source.record->name, source.record->version);
  return version.empty() ? name : concat(name, " ", version);
}

Cells cells_of(const BackendInfo& info) {
  const host::BackendRecord* backend = info.backend();
  return {
      or_dash(std::string(info.id())),           std::string(state_name(info.state)),
      backend ? concat(backend->priority) : "-", backend ? or_dash(join(backend->tags, ",")) : "-",
      backend ? payloads(*backend) : "-",        or_dash(plugin_name(*info.source)),
      printable(info.source->origin())};
}

// Characters of UTF-8 text, near enough to its width on a terminal.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

Style style_of(BackendState state) {
  switch (state) {
    case BackendState::known:
    case BackendState::loaded:
      return Style::good;
    case BackendState::duplicate:
    case BackendState::unsupported:
    case BackendState::refused:
      return Style::bad;
    default:
      return Style::weak;
  }
}

class Text {
 public:
  Text(const Listing& listing, const TextOptions& options) : listing_(listing), options_(options) {}

  std::string write() && {
    for (const Entry& entry : listing_.entries) {
      if (options_.all || entry.hidden_as.empty()) {
        shown_.push_back(&entry);
      } else {
        ++hidden_[entry.hidden_as];
      }
    }
    if (listing_.num_found == 0) {
      write_nothing_found();
    } else {
      if (shown_.empty()) {
        write_nothing_shown();
      } else {
        write_table();
      }
      write_hidden();
      if (options_.places) {
        write_paths();
      } else {
        write_unsearched_places();
      }
    }
    return std::move(out_);
  }

 private:
  template <class... Pieces>
  void line(const Pieces&... pieces) {
    out_ += concat(pieces..., "\n");
  }

  void write_table() {
    std::vector<Cells> rows;
    rows.reserve(shown_.size());
    std::array<std::size_t, num_columns> widths{};
    for (std::size_t i = 0; i < num_columns; ++i) widths[i] = titles[i].size();
    for (const Entry* entry : shown_) {
      const Cells& cells = rows.emplace_back(cells_of(entry->info));
      // Nothing follows the last column.
      for (std::size_t i = 0; i + 1 < num_columns; ++i) {
        widths[i] = std::max(widths[i], width_of(cells[i]));
      }
    }
    Cells head;
    std::ranges::copy(titles, head.begin());
    write_row(head, widths, [](std::size_t) { return Style::title; });
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const BackendInfo& info = shown_[row]->info;
      write_row(rows[row], widths, [&](std::size_t column) {
        return column == state_column ? style_of(info.state) : Style::plain;
      });
      const host::BackendRecord* backend = info.backend();
      if (backend && backend->runs_embedded_code) {
        line("    ", styled("runs native code that programs carry", Style::weak));
      }
      if (backend && backend->offers_kernels) {
        line("    ", styled("has kernels for operators of programs", Style::weak));
      }
      write_signature(*shown_[row]);
      if (!info.reason.empty()) line("    ", styled(printable(info.reason), Style::weak));
    }
  }

  void write_signature(const Entry& entry) {
    if (!entry.signature) return;
    const auto& found = *entry.signature;
    if (!found.ok()) {
      line("    ", styled(printable(found.text()), Style::bad));
    } else if (found->state == host::SignatureState::valid) {
      line("    ", styled(concat("signed by ", printable(found->publisher), ", key ", found->key_id,
                                 found->trusted_comment.empty() ? "" : ": ",
                                 printable(found->trusted_comment)),
                          Style::weak));
    } else {
      line("    ",
           styled(concat(state_name(found->state), ": ", printable(found->reason)), Style::bad));
    }
  }

  template <class StyleOf>
  void write_row(const Cells& cells, const std::array<std::size_t, num_columns>& widths,
                 const StyleOf& style) {
    for (std::size_t i = 0; i < num_columns; ++i) {
      const bool last = i + 1 == num_columns;
      const std::string blanks(last ? 0 : widths[i] - width_of(cells[i]), ' ');
      if (i == priority_column) out_ += blanks;
      out_ += styled(cells[i], style(i));
      if (i != priority_column) out_ += blanks;
      out_ += last ? "\n" : "  ";
    }
  }

  void write_nothing_shown() {
    if (!listing_.entries.empty()) {
      line("There is no backend to list.");
    } else {
      line("No backend has ", listing_.tags.size() == 1 ? "the tag " : "all of the tags ",
           printable(join(listing_.tags, ", ")),
           ". Tags of those that were found: ", or_dash(join(listing_.all_tags, ", ")));
    }
  }

  void write_hidden() {
    if (hidden_.empty()) return;
    std::size_t total = 0;
    std::string kinds;
    for (const auto& [kind, count] : hidden_) {
      total += count;
      kinds += concat(kinds.empty() ? "" : ", ", count, " ", kind);
    }
    line(styled(concat(total, shown_.empty() ? "" : " more", total == 1 ? " is" : " are",
                       " hidden (", kinds, "); see ", total == 1 ? "it" : "them", " with --all"),
                Style::weak));
  }

  void write_path(const host::SearchPath& path) {
    if (path.error == Error::Ok) {
      line("  ", printable(path.name()), ": ", path.num_sources,
           path.num_sources == 1 ? " plugin" : " plugins");
    } else {
      const bool names_it =
          !path.path.empty() && path.reason.starts_with(host::path_text(path.path));
      line(
          "  ",
          names_it ? std::string(search_path_name(path.kind)) + " " : printable(path.name()) + ": ",
          printable(path.reason));
    }
  }

  void write_paths() {
    line("searched:");
    for (const host::SearchPath& path : listing_.search_paths) write_path(path);
  }

  // A path that was named and not searched is a mistake to be shown. That nothing was
  // ever installed is not.
  void write_unsearched_places() {
    bool any = false;
    for (const host::SearchPath& path : listing_.search_paths) {
      const bool expected =
          path.kind == host::SearchPathKind::installed && path.error == Error::NotFound;
      if (path.error == Error::Ok || expected) continue;
      if (!any) line("not searched:");
      any = true;
      write_path(path);
    }
  }

  void write_nothing_found() {
    line("No backend was found.");
    if (listing_.search_paths.empty()) {
      line("No place was searched: this build knows no directory of installed plugins.");
    } else {
      write_paths();
    }
    const auto installed = std::ranges::find(listing_.search_paths, host::SearchPathKind::installed,
                                             &host::SearchPath::kind);
    if (installed == listing_.search_paths.end()) {
      line("Say where plugins are:");
    } else {
      line("Install a plugin into ", printable(host::path_text(installed->path)),
           ", or say where it is:");
    }
    line("  TENON_PLUGIN_PATH=/absolute/folder tenon-list");
    line("  TENON_PLUGIN_FILES=/absolute/plugin.so tenon-list");
  }

  [[nodiscard]] std::string styled(std::string_view text, Style style) const {
    return tenon::styled(text, style, options_.color);
  }

  const Listing& listing_;
  const TextOptions& options_;
  std::vector<const Entry*> shown_;
  std::map<std::string_view, std::size_t> hidden_;
  std::string out_;
};

}  // namespace

std::string to_text(const Listing& listing, const TextOptions& options) {
  return Text(listing, options).write();
}

}  // namespace tenon::list
