// SPDX-License-Identifier: MIT
#include "groups.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ours.hpp"
#include "programs.hpp"
#include "scratch.hpp"
#include "stock/stock.hpp"
#include "turns.hpp"

namespace tenon::bench {
namespace {

constexpr int few_calls = 10;
constexpr int many_calls = 1000;
/// As large programs have. Each call has a kernel object of its own, so that thousands would
/// measure the processor's caches.
constexpr int many_kernels = 60;

constexpr std::array<std::pair<const char*, Shapes>, 2> shape_kinds{
    {{"fixed", Shapes::Fixed}, {"bounded", Shapes::Bounded}}};

/// Nanoseconds that the adapter may take, for each of `shape_kinds`.
constexpr std::array<double, shape_kinds.size()> adapter_goals{3, 4};

/// Two works that differ in the number of calls alone.
struct Slope {
  std::size_t small, large;
};

/// One program on both sides.
struct Sides {
  std::size_t stock, ours;
};

Sides add_both(Turns& turns, const Setup& setup, const std::string& path) {
  const auto stock = turns.add(setup.stock, [&] { return stock::execute(path); });
  return {stock, turns.add(setup.ours, [&] { return ours::execute(path, setup.bridges); })};
}

/// Directories of programs that are measured as a whole: the fixtures', then the given ones.
std::vector<std::filesystem::path> program_directories(const Setup& setup) {
  std::vector<std::filesystem::path> out;
  for (const char* name : {"mlp_xnnpack", "xnnpack_mobilenet", "xnnpack_transformer",
                           "xnnpack_quantised", "xnnpack_dynamic_mlp",
                           "xnnpack_dynamic_transformer", "mlp_portable", "add_dynamic_portable"}) {
    out.push_back(std::filesystem::path(setup.fixtures) / name);
  }
  for (const auto& directory : setup.cases) {
    out.push_back((std::filesystem::path(directory) / "").parent_path());
  }
  return out;
}

/// The goal is for what a backend does; a program of kernels alone says what calling them costs.
std::optional<Goal> goal_of(const std::string& name) {
  return name.ends_with("_portable") ? std::nullopt : std::optional(stock_times(1.05));
}

}  // namespace

std::vector<Row> adapter_rows(const Setup& setup) {
  if (!setup.stock) return {};
  Scratch scratch;
  Turns turns;
  const auto add = [&](const char* id, const char* name, Shapes shapes) {
    const auto work = [&](int calls) {
      const auto path = scratch.file(fmt::format("{}_{}_{}.pte", id, name, calls));
      write_delegate_calls(id, calls, shapes, path);
      return turns.add(true, [&] { return stock::execute(path); });
    };
    const auto small = work(few_calls);
    return Slope{small, work(many_calls)};
  };
  std::array<std::pair<Slope, Slope>, shape_kinds.size()> slopes{};
  for (std::size_t i = 0; i < shape_kinds.size(); ++i) {
    const auto& [name, shapes] = shape_kinds[i];
    slopes[i].first = add("NoopBackend", name, shapes);
    slopes[i].second = add("NoopAdapted", name, shapes);
  }
  turns.run(setup.plan);

  std::vector<Row> rows;
  for (std::size_t i = 0; i < shape_kinds.size(); ++i) {
    const auto& [stock, adapted] = slopes[i];
    rows.push_back({"", fmt::format("a call with two tensors of {} shape", shape_kinds[i].first),
                    "ns", std::nullopt,
                    turns.slope(stock.small, stock.large, many_calls - few_calls),
                    turns.slope(adapted.small, adapted.large, many_calls - few_calls),
                    stock_plus(adapter_goals[i])});
  }
  return rows;
}

std::vector<Row> bridge_rows(const Setup& setup) {
  if (setup.bridges.empty()) return {};
  // Threads of a pool would share this one core with us.
  const stock::OneThread guard;
  Scratch scratch;
  std::vector<Row> rows;
  for (const auto& kind : shape_kinds) {
    Turns turns;
    const auto work = [&](int calls) {
      const auto path = scratch.file(fmt::format("add_{}_{}.pte", kind.first, calls));
      write_kernel_calls(calls, kind.second, path);
      return add_both(turns, setup, path);
    };
    const Sides few = work(few_calls);
    const Sides many = work(many_kernels);
    turns.run(setup.plan);
    constexpr int steps = many_kernels - few_calls;
    rows.push_back({"", fmt::format("aten::add.out of four numbers, {} shape", kind.first), "ns",
                    std::nullopt, turns.slope(few.stock, many.stock, steps),
                    turns.slope(few.ours, many.ours, steps), std::nullopt});
  }
  // Each by itself, so that a large one leaves the caches of the others alone.
  for (const auto& directory : program_directories(setup)) {
    Turns turns;
    const Sides sides = add_both(turns, setup, directory / "model.pte");
    turns.run(setup.plan);
    const std::string name = directory.filename();
    rows.push_back(
        {"", name, "ns", std::nullopt, turns[sides.stock], turns[sides.ours], goal_of(name)});
  }
  return rows;
}

}  // namespace tenon::bench
