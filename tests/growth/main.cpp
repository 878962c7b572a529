// SPDX-License-Identifier: MIT
//
// The work of reading a file grows in proportion to what it holds, whatever that is: no collection
// makes a reader slower than n log n.
//
//     growth check SIZE SIZE...   fails where the work grows faster from one size to the next
//     growth table SIZE SIZE...   prints the work, and the seconds of CPU, as a table in Markdown
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "collection.hpp"
#include "work.hpp"

namespace tenon::test { namespace {

struct Measurement {
  std::size_t count = 0;
  std::uint64_t work = 0;
  double seconds = 0;
};

double cpu_seconds() {
  ::rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec) * 1e-6;
}

/// The work for `count` of a collection. Ends the process when the outcome is not the expected one.
Measurement measure(const Collection& collection, std::size_t count) {
  const Task task = collection.prepare(count);
  const double started = cpu_seconds();
  const std::uint64_t before = work();
  const Status status = task();
  const std::uint64_t after = work();
  const double ended = cpu_seconds();
  const bool good = collection.outcome.empty()
                        ? status.ok()
                        : status.text().find(collection.outcome) != std::string_view::npos;
  if (!good) {
    const std::string text = describe(status);
    std::fprintf(stderr, "%.*s: %zu of them: expected '%.*s', found '%.300s'\n",
                 static_cast<int>(collection.what.size()), collection.what.data(), count,
                 static_cast<int>(collection.outcome.size()), collection.outcome.data(),
                 text.c_str());
    std::exit(2);
  }
  return {count, after - before, ended - started};
}

/// How much faster than in proportion the work grew: 1 is linear, n for quadratic growth to n times
/// as many. The work for a single one is taken off first: it does not grow.
double excess(const Measurement& one, const Measurement& less, const Measurement& more) {
  const auto beyond = [&](const Measurement& at) {
    return static_cast<double>(std::max<std::uint64_t>(at.work - std::min(at.work, one.work), 1));
  };
  const double ratio = static_cast<double>(more.count) / static_cast<double>(less.count);
  return beyond(more) / beyond(less) / ratio;
}

std::vector<Collection> all_collections() {
  std::vector<Collection> all;
  for (const auto make : {&program_collections, &file_collections, &compiler_collections,
                          &kit_collections, &tool_collections}) {
    for (Collection& each : make()) all.push_back(std::move(each));
  }
  return all;
}

/// The sizes, or the largest that the collection can have in place of those above it.
std::vector<std::size_t> sizes_of(const Collection& collection,
                                  const std::vector<std::size_t>& sizes) {
  std::vector<std::size_t> out;
  for (const std::size_t size : sizes) {
    const std::size_t possible = std::min(size, collection.most);
    if (out.empty() || possible > out.back()) out.push_back(possible);
  }
  if (out.size() < 2) out = {collection.most / 16, collection.most / 4, collection.most};
  return out;
}

int check(const std::vector<std::size_t>& sizes) {
  // n log n grows by a fifth more than n from 1,000 to 4,000; vectors and hash tables that double
  // add steps of up to a factor of two at their ends, which the work of other parts dampens.
  constexpr double most = 1.5;
  int failures = 0;
  for (const Collection& collection : all_collections()) {
    const Measurement one = measure(collection, 1);
    std::vector<Measurement> measured;
    for (const std::size_t size : sizes_of(collection, sizes)) {
      measured.push_back(measure(collection, size));
    }
    double worst = 0;
    for (std::size_t i = 1; i < measured.size(); ++i) {
      worst = std::max(worst, excess(one, measured[i - 1], measured[i]));
    }
    const bool good = worst <= most;
    failures += good ? 0 : 1;
    std::printf("%s - %.*s: grows %.2f times as fast as their number, expected at most %.1f\n",
                good ? "ok" : "not ok", static_cast<int>(collection.what.size()),
                collection.what.data(), worst, most);
    std::fflush(stdout);
  }
  return failures == 0 ? 0 : 1;
}

int table(const std::vector<std::size_t>& sizes) {
  std::printf("| collection | work for each, at");
  for (const std::size_t size : sizes) std::printf(" %zu |", size);
  std::printf(" growth | seconds at the last |\n|---|");
  for (std::size_t i = 0; i < sizes.size() + 2; ++i) std::printf("---|");
  std::printf("\n");
  for (const Collection& collection : all_collections()) {
    const Measurement one = measure(collection, 1);
    std::vector<Measurement> measured;
    std::printf("| %.*s |", static_cast<int>(collection.what.size()), collection.what.data());
    for (const std::size_t size : sizes_of(collection, sizes)) {
      measured.push_back(measure(collection, size));
      const double each = static_cast<double>(measured.back().work) / static_cast<double>(size);
      const bool is_asked = std::ranges::find(sizes, size) != sizes.end();
      std::printf(is_asked ? " %.1f |" : " %.1f (%zu) |", each, size);
    }
    for (std::size_t i = measured.size(); i < sizes.size(); ++i) std::printf(" |");
    double worst = 0;
    for (std::size_t i = 1; i < measured.size(); ++i) {
      worst = std::max(worst, excess(one, measured[i - 1], measured[i]));
    }
    std::printf(" %.2f | %.3f |\n", worst, measured.back().seconds);
    std::fflush(stdout);
  }
  return 0;
}

}}  // namespace tenon::test

int main(int argc, char** argv) {
  std::vector<std::size_t> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  if (argc < 4) {
    std::fputs("usage: growth check|table SIZE SIZE...\n", stderr);
    return 2;
  }
  const std::string_view what = argv[1];
  return what == "table" ? tenon::test::table(sizes) : tenon::test::check(sizes);
}
