// SPDX-License-Identifier: MIT
//
// The cost of proving a method: usage proof PLUGIN [ROUNDS]. PLUGIN computes 2 * x + 1 as
// "ZooBackend" (tests/plugins/wrong); a program with three golden cases is loaded without the
// layer, with a verdict that is kept, and with a proof. The rows are minimums of ROUNDS loads,
// which take turns.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/host.hpp>
#include <tenon/host/prepared.hpp>
#include <tenon/host/prove.hpp>
#include <utility>
#include <vector>

#include "support/program_builder.hpp"
#include "support/temporary_directory.hpp"

namespace {

namespace host = tenon::host;

[[noreturn]] void fail(std::string_view text) {
  std::fprintf(stderr, "proof: %.*s\n", static_cast<int>(text.size()), text.data());
  std::exit(1);
}

template <class T>
T take(tenon::Result<T> result) {
  if (!result.ok()) fail(result.text());
  return *std::move(result);
}

std::vector<std::byte> golden() {
  const std::vector<float> x{-1, 0.5F, 2, 4};
  const std::vector<float> y{-1, 2, 5, 9};
  const std::vector<std::int64_t> shape{4};
  const host::GoldenTensor in{0, tenon::ScalarType::Float, shape, std::as_bytes(std::span(x)), {}};
  const host::GoldenTensor out{0, tenon::ScalarType::Float, shape, std::as_bytes(std::span(y)), {}};
  return take(host::write_golden({{}, std::vector<host::GoldenCase>(3, {"forward", {in}, {out}})}));
}

std::shared_ptr<const host::Program> write_program(const std::filesystem::path& path) {
  tenon::test::ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(32);
  const auto planned = [&](std::uint64_t at) {
    return tenon::test::planned_tensor(tenon::ScalarType::Float, {4}, memory, at);
  };
  const auto x = plan.input(planned(0));
  const auto y = plan.output(planned(16));
  const auto blob = builder.segment(tenon::test::bytes_of("blob"));
  const auto delegate = plan.delegate("ZooBackend", tenon::schema::DataLocation::SEGMENT, blob);
  plan.instruction(tenon::test::delegate_call(delegate, {x, y}));
  builder.named_data(std::string(host::golden_key), builder.segment(golden()));
  const auto bytes = builder.build();
  const auto text = tenon::test::text_of(bytes.bytes());
  std::ofstream(path, std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
  return take(host::Program::open(path));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) fail("expected PLUGIN [ROUNDS]");
  const long rounds = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 2000;
  const tenon::test::TemporaryDirectory directory;
  const auto cache = take(host::PreparedCache::open(directory / "cache"));
  const auto program = write_program(directory / "model.pte");
  host::BackendRegistry registry;
  if (const auto added = registry.register_backend(argv[1]); !added.ok()) fail(added.text());

  struct Row {
    const char* what;
    host::Layers layers;
    double best = 1e300;
  };
  const host::Prove proof(cache);
  std::array rows{Row{"load, no proof", {}}, Row{"load, verdict kept", {proof}},
                  Row{"load with proof", {proof.again()}}};
  const auto load = [&](const host::Layers& layers) {
    host::MethodOptions options{.registry = &registry, .layers = layers};
    return take(host::Method::load(program, "forward", std::move(options)));
  };
  // Keeps the plugin, as other methods of an application do, and the first verdict.
  const auto first = load(rows[1].layers);
  for (long i = 0; i < rounds; ++i) {
    for (Row& row : rows) {
      const auto begin = std::chrono::steady_clock::now();
      const auto method = load(row.layers);
      const std::chrono::duration<double, std::micro> spent =
          std::chrono::steady_clock::now() - begin;
      row.best = std::min(row.best, spent.count());
    }
  }
  for (const Row& row : rows) {
    std::printf("%-20s %8.2f us  %+8.2f\n", row.what, row.best, row.best - rows[0].best);
  }
  return 0;
}
