// SPDX-License-Identifier: MIT
#include "groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "floor.hpp"
#include "ours.hpp"
#include "scratch.hpp"
#include "stock/stock.hpp"
#include "turns.hpp"

namespace tenon::bench {
namespace {

std::string program(const Setup& setup, const char* name) {
  return setup.programs + "/" + name + ".pte";
}

std::vector<Row> execute_rows(const Setup& setup) {
  enum { Empty, Call10, Call1000, Args8, Distinct10, Distinct1000, Count };
  constexpr std::array<const char*, Count> names{"noop_empty",     "noop_call_10",
                                                 "noop_call_1000", "noop_call_1000_args8",
                                                 "noop_del_10",    "noop_del_1000"};
  Turns turns;
  std::array<std::size_t, Count> stock{};
  std::array<std::size_t, Count> ours{};
  std::array<std::size_t, Count> sdk{};
  for (std::size_t i = 0; i < Count; ++i) {
    const auto path = program(setup, names[i]);
    stock[i] = turns.add(setup.stock, [&] { return stock::execute(path); });
    ours[i] = turns.add(setup.ours, [&] { return ours::execute(path, setup.plugin); });
    sdk[i] = turns.add(setup.ours, [&] { return ours::execute(path, setup.sdk_plugin); });
  }
  const auto async = turns.add(
      setup.ours, [&] { return ours::execute_async(program(setup, names[Empty]), setup.plugin); });
  const auto call = turns.add(true, [&] { return floor::call(setup.plugin); });
  turns.run(setup.plan);

  const auto row = [&](const char* what, std::size_t small, std::size_t large, double steps,
                       const std::array<std::size_t, Count>& side, std::optional<Goal> goal) {
    return Row{"",
               what,
               "ns",
               turns[call],
               turns.slope(stock[small], stock[large], steps),
               turns.slope(side[small], side[large], steps),
               goal};
  };
  return {
      row("a delegate call, plugin in C++", Call10, Call1000, 990, sdk, stock_times(0.4)),
      row("a delegate call, plugin in C", Call10, Call1000, 990, ours, stock_times(0.4)),
      row("a delegate call with 8 arguments, in C", Empty, Args8, 1000, ours, std::nullopt),
      row("a call into each of 1,000 delegates, in C", Distinct10, Distinct1000, 990, ours,
          std::nullopt),
      {"", "a method without a delegate call", "ns", std::nullopt, turns[stock[Empty]],
       turns[ours[Empty]], stock_times(0.5)},
      {"", "the same by execute_async, on an executor that runs at once", "ns", std::nullopt,
       std::nullopt, turns[async], std::nullopt},
  };
}

std::vector<Row> load_rows(const Setup& setup) {
  enum { One, Thousand, Specs, Call10, Call1000, Count };
  constexpr std::array<const char*, Count> names{
      "noop_del_1", "noop_del_1000", "noop_del_100_spec4", "noop_call_10", "noop_call_1000"};
  struct Peer {
    stock::Loader loader;
    const char* name;
  };
  constexpr std::array<Peer, 3> peers{{{stock::Loader::File, "stock reads the file"},
                                       {stock::Loader::Map, "stock maps the file"},
                                       {stock::Loader::Memory, "stock has the bytes"}}};
  Turns turns;
  std::array<std::array<std::size_t, peers.size()>, Count> stock{};
  std::array<std::size_t, Count> ours{};
  for (std::size_t i = 0; i < Count; ++i) {
    const auto path = program(setup, names[i]);
    for (std::size_t k = 0; k < peers.size(); ++k) {
      stock[i][k] = turns.add(setup.stock, [&] { return stock::load(path, peers[k].loader); });
    }
    ours[i] = turns.add(setup.ours, [&] { return ours::load(path, setup.plugin); });
  }
  turns.run(setup.plan);

  std::vector<Row> rows;
  const auto add = [&](const std::string& what, std::size_t small, std::size_t large, double steps,
                       std::size_t peer, std::optional<Goal> goal) {
    rows.push_back({"", what, "ns", std::nullopt,
                    turns.slope(stock[small][peer], stock[large][peer], steps),
                    turns.slope(ours[small], ours[large], steps), goal});
  };
  for (std::size_t k = 0; k < peers.size(); ++k) {
    rows.push_back({"", fmt::format("a method of one delegate ({})", peers[k].name), "ns",
                    std::nullopt, turns[stock[One][k]], turns[ours[One]], std::nullopt});
  }
  for (std::size_t k = 0; k < peers.size(); ++k) {
    add(fmt::format("each further delegate ({})", peers[k].name), One, Thousand, 999, k,
        peers[k].loader == stock::Loader::File ? std::optional(stock_times(0.5)) : std::nullopt);
  }
  add("each further delegate with 4 compile specs (file)", One, Specs, 99, 0, std::nullopt);
  add("each further instruction", Call10, Call1000, 990, 2, std::nullopt);
  return rows;
}

std::vector<Row> open_rows(const Setup& setup) {
  using stock::Verification;
  struct Size {
    const char* name;
    std::uint64_t bytes;
  };
  constexpr std::array<Size, 3> sizes{
      {{"1 MB", 1'000'000}, {"100 MB", 100'000'000}, {"1 GiB", std::uint64_t{1} << 30}}};
  Scratch scratch;
  std::vector<std::pair<std::string, std::string>> programs;
  for (const auto& size : sizes) {
    const auto path = scratch.file(std::to_string(size.bytes) + ".pte");
    write_large_program(program(setup, "noop_call_1"), size.bytes, path);
    programs.emplace_back(size.name, path);
  }
  programs.emplace_back("1,000 delegates", program(setup, "noop_del_1000"));

  Turns turns;
  struct Numbers {
    std::size_t floor, minimal, complete, ours;
  };
  std::vector<Numbers> numbers;
  for (const auto& [name, path] : programs) {
    const auto& file = path;
    numbers.push_back(
        {turns.add(true, [&] { return floor::map_file(file); }),
         turns.add(setup.stock, [&] { return stock::open(file, Verification::Minimal); }),
         turns.add(setup.stock,
                   [&] { return stock::open(file, Verification::InternalConsistency); }),
         turns.add(setup.ours, [&] { return ours::open(file); })});
  }
  turns.run(setup.plan);

  std::vector<Row> rows;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const auto& name = programs[i].first;
    const bool judged = name == "1 GiB";
    rows.push_back({"", name + ", stock verifies little", "ns", turns[numbers[i].floor],
                    turns[numbers[i].minimal], turns[numbers[i].ours],
                    judged ? std::optional(stock_times(1.0)) : std::nullopt});
    rows.push_back({"", name + ", stock verifies as we do", "ns", turns[numbers[i].floor],
                    turns[numbers[i].complete], turns[numbers[i].ours], std::nullopt});
  }
  return rows;
}

std::vector<Row> look_up_rows(const Setup& setup) {
  constexpr std::size_t many = 1000;
  struct Kind {
    const char* name;
    std::optional<stock::Name> stock;
    ours::Name ours;
  };
  constexpr const char* kept = "the first, by the reference that its first look-up gave,";
  constexpr std::array<Kind, 5> kinds{{{"the first", stock::Name::First, ours::Name::First},
                                       {kept, stock::Name::First, ours::Name::Kept},
                                       {"the last", stock::Name::Last, ours::Name::Last},
                                       {"a missing one", stock::Name::Missing, ours::Name::Missing},
                                       {"each in turn", std::nullopt, ours::Name::EachInTurn}}};
  const std::size_t few = setup.stock ? stock::registry_size() : 16;
  Turns turns;
  std::array<std::array<std::size_t, 3>, kinds.size()> numbers{};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto& kind = kinds[i];
    numbers[i] = {turns.add(setup.stock && kind.stock, [&] { return stock::look_up(*kind.stock); }),
                  turns.add(setup.ours, [&] { return ours::look_up(few, kind.ours); }),
                  turns.add(setup.ours, [&] { return ours::look_up(many, kind.ours); })};
  }
  turns.run(setup.plan);

  std::vector<Row> rows;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    rows.push_back({"", fmt::format("{} of {}", kinds[i].name, few), "ns", std::nullopt,
                    turns[numbers[i][0]], turns[numbers[i][1]],
                    kinds[i].ours == ours::Name::Kept ? stock_times(1) : at_most(20)});
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    rows.push_back({"", fmt::format("{} of {}", kinds[i].name, many), "ns", std::nullopt,
                    std::nullopt, turns[numbers[i][2]], at_most(20)});
  }
  return rows;
}

/// Heap allocations for one repeat, after the first, which may fill caches.
Figure allocations(bool wanted, const std::function<Work()>& make) {
  constexpr std::uint64_t repeats = 10;
  if (!wanted) return std::nullopt;
  const auto work = make();
  work(1);
  const auto each =
      static_cast<double>(count_allocations(work, repeats)) / static_cast<double>(repeats);
  return Value{each, each};
}

std::vector<Row> allocation_rows(const Setup& setup) {
  if (!can_count_allocations()) return {};
  const auto calls = program(setup, "noop_call_1000");
  const auto one = program(setup, "noop_del_1");
  const auto thousand = program(setup, "noop_del_1000");
  const auto stock_load = [&](const std::string& path) {
    return allocations(setup.stock, [&] { return stock::load(path, stock::Loader::File); });
  };
  const auto our_load = [&](const std::string& path) {
    return allocations(setup.ours, [&] { return ours::load(path, setup.plugin); });
  };
  const auto further = [](const Figure& few, const Figure& many) {
    return few && many ? Figure(slope(*few, *many, 999)) : std::nullopt;
  };
  return {
      {"", "execute with 1,000 delegate calls", "", std::nullopt,
       allocations(setup.stock, [&] { return stock::execute(calls); }),
       allocations(setup.ours, [&] { return ours::execute(calls, setup.sdk_plugin); }), at_most(0)},
      {"", "load a method of one delegate (stock reads the file)", "", std::nullopt,
       stock_load(one), our_load(one), std::nullopt},
      {"", "load, each further delegate (stock reads the file)", "", std::nullopt,
       further(stock_load(one), stock_load(thousand)), further(our_load(one), our_load(thousand)),
       std::nullopt},
  };
}

}  // namespace

const std::vector<Group>& all_groups() {
  static const std::vector<Group> groups{
      {"execute", execute_rows, true},
      {"load", load_rows, true},
      {"open", open_rows, true},
      {"look-up", look_up_rows, true},
      {"allocations", allocation_rows, true},
      {"plugins", plugin_rows, false},
      {"process", process_rows, false},
      {"decode", decode_rows, false},
      {"adapter", adapter_rows, true},
      {"bridge", bridge_rows, true},
      {"growth", growth_rows, true},
  };
  return groups;
}

}  // namespace tenon::bench
