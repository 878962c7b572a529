// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace tenon::bench {
namespace {

constexpr std::size_t columns = 7;
using Line = std::array<std::string, columns>;

std::string number(double value, const std::string& unit) {
  if (unit != "ns") return fmt::format("{:.3g}", value);
  if (value >= 1e6) return fmt::format("{:.1f} ms", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.1f} µs", value / 1e3);
  return fmt::format("{:.{}f} ns", value, value < 100 ? 1 : 0);
}

std::string number(const std::optional<Value>& value, const std::string& unit) {
  return value ? number(value->minimum, unit) : "";
}

std::string goal_text(const Row& row) {
  if (!row.goal) return "";
  switch (row.goal->against) {
    case Goal::Against::Stock:
      return fmt::format("≤ {} × stock", row.goal->limit);
    case Goal::Against::StockPlus:
      return fmt::format("≤ stock + {} {}", row.goal->limit, row.unit);
    case Goal::Against::Floor:
      return fmt::format("≤ {} × floor", row.goal->limit);
    case Goal::Against::Nothing:
      break;
  }
  return fmt::format("≤ {}{}", row.goal->limit,
                     row.unit.empty() ? "" : fmt::format(" {}", row.unit));
}

std::string verdict(const Row& row) {
  const auto reached = row.reached();
  if (!reached) return "";
  return *reached ? "yes" : "NO";
}

std::vector<Line> lines_of(const std::vector<Row>& rows) {
  std::vector<Line> lines{{"what", "floor", "stock", "ours", "ours / stock", "goal", "reached"}};
  for (const auto& row : rows) {
    const auto ratio = row.ratio();
    lines.push_back({row.what, number(row.floor, row.unit), number(row.stock, row.unit),
                     number(row.ours, row.unit), ratio ? fmt::format("{:.2f}", *ratio) : "",
                     goal_text(row), verdict(row)});
  }
  return lines;
}

nlohmann::json json_of(const std::optional<Value>& value) {
  if (!value) return nullptr;
  return {{"minimum", value->minimum}, {"median", value->median}, {"halves", value->halves}};
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

/// The widest vectors of the processor, by which figures of different machines are distinguished.
std::string machine_class() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "AVX-512";
  return __builtin_cpu_supports("avx2") ? "AVX2" : "x86-64";
#elif defined(__aarch64__)
  return "arm64";
#else
  return "unknown";
#endif
}

}  // namespace

std::optional<double> Row::ratio() const {
  if (!stock || !ours || stock->minimum <= 0) return std::nullopt;
  return ours->minimum / stock->minimum;
}

std::optional<bool> Row::reached() const {
  if (!goal || !ours) return std::nullopt;
  switch (goal->against) {
    case Goal::Against::Stock:
      if (!stock) return std::nullopt;
      return ours->minimum <= goal->limit * stock->minimum;
    case Goal::Against::StockPlus:
      if (!stock) return std::nullopt;
      return ours->minimum <= stock->minimum + goal->limit;
    case Goal::Against::Floor:
      if (!floor) return std::nullopt;
      return ours->minimum <= goal->limit * floor->minimum;
    case Goal::Against::Nothing:
      break;
  }
  return ours->minimum <= goal->limit;
}

std::string Report::text() const {
  const auto lines = lines_of(rows);
  std::array<std::size_t, columns> widths{};
  // Not bytes: the table has characters outside ASCII.
  const auto width_of = [](const std::string& cell) {
    return static_cast<std::size_t>(
        std::count_if(cell.begin(), cell.end(), [](char c) { return (c & 0xc0) != 0x80; }));
  };
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  }
  std::string out;
  for (const auto& [name, fact] : facts) out += fmt::format("{}: {}\n", name, fact);
  std::string group;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    if (k > 0 && rows[k - 1].group != group) {
      group = rows[k - 1].group;
      out += fmt::format("\n{}\n", group);
    } else if (k == 0) {
      out += "\n";
    }
    std::string line = "  ";
    for (std::size_t i = 0; i < columns; ++i) {
      const std::string gap(widths[i] - width_of(lines[k][i]), ' ');
      line += i == 0 ? lines[k][i] + gap : "  " + gap + lines[k][i];
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string Report::markdown() const {
  const auto lines = lines_of(rows);
  const auto joined = [](const std::string& first, const Line& line) {
    return fmt::format("| {} | {} |\n", first, fmt::join(line, " | "));
  };
  std::string out;
  for (const auto& [name, fact] : facts) out += fmt::format("- {}: {}\n", name, fact);
  out += "\n";
  out += joined("group", lines.front());
  out += "|---|---|---:|---:|---:|---:|---|---|\n";
  for (std::size_t k = 1; k < lines.size(); ++k) out += joined(rows[k - 1].group, lines[k]);
  return out;
}

std::string Report::json() const {
  nlohmann::ordered_json out;
  for (const auto& [name, fact] : facts) out["facts"][name] = fact;
  out["rows"] = nlohmann::json::array();
  for (const auto& row : rows) {
    nlohmann::ordered_json entry;
    entry["group"] = row.group;
    entry["what"] = row.what;
    entry["unit"] = row.unit;
    entry["floor"] = json_of(row.floor);
    entry["stock"] = json_of(row.stock);
    entry["ours"] = json_of(row.ours);
    const auto ratio = row.ratio();
    entry["ratio"] = ratio ? nlohmann::json(*ratio) : nlohmann::json(nullptr);
    entry["goal"] = row.goal ? nlohmann::json(goal_text(row)) : nlohmann::json(nullptr);
    const auto reached = row.reached();
    entry["reached"] = reached ? nlohmann::json(*reached) : nlohmann::json(nullptr);
    out["rows"].push_back(std::move(entry));
  }
  return out.dump(2) + "\n";
}

std::vector<std::pair<std::string, std::string>> machine_facts() {
  utsname system{};
  ::uname(&system);
  return {{"processor", processor()},
          {"machine class", machine_class()},
          {"system",
           fmt::format("{} {}, glibc {}", system.sysname, system.release, gnu_get_libc_version())},
          {"compiler",
#if defined(__clang__)
           fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__)
#else
           fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__)
#endif
          }};
}

}  // namespace tenon::bench
