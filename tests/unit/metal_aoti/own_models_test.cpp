// SPDX-License-Identifier: MIT
//
// Programs for Metal that no exporter wrote: constants of both devices, and functions that no shim
// has.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "metal_programs.hpp"
#include "mixed_program.hpp"
#include "stand_in_device.hpp"
#include "support/aligned_bytes.hpp"
#include "support/model_code.hpp"

using namespace metal_test;
using tenon::metal_stand_in::control;
using namespace tenon::test;

TEST_CASE("constants in the host's memory work together with those on the device", "[metal]") {
  Host host;
  struct Case {
    const char* places;
    std::int64_t size;  // 16: as bytes of the call; 1500: in a buffer of their own.
    float sum;
  };
  for (const Case& c : {Case{"dh", 16, 11}, Case{"hd", 16, 11}, Case{"ddhh", 16, 1111},
                        Case{"dh", 1500, 11}, Case{"hh", 1500, 11}}) {
    INFO(c.places << ", " << c.size << " elements");
    const AlignedBytes program = mixed_program(c.places, c.size);
    {
      auto method = load(host, program.bytes());
      auto other = load(host, program.bytes());
      INFO(method.text());
      REQUIRE((method.ok() && other.ok()));
      for (int run = 0; run < 3; ++run) {
        const std::vector<float> x(static_cast<std::size_t>(c.size),
                                   static_cast<float>(run) + 0.5f);
        const std::int64_t sizes[] = {c.size};
        for (host::Method* const each : {method->get(), other->get()}) {
          REQUIRE(each->set_input(0, {ScalarType::Float, sizes, std::as_bytes(std::span(x))}).ok());
          const Status status = each->execute();
          INFO(status.text());
          REQUIRE(status.ok());
          const tenon_tensor& y = *each->output(0).as.tensor;
          const std::span found(static_cast<const float*>(y.dl.data), x.size());
          CHECK(std::ranges::all_of(found, [&](float f) { return f == x[0] + c.sum; }));
        }
      }
    }
    CHECK(control().num_buffers == 0);
    CHECK(control().num_queues == 0);
  }
}

TEST_CASE("constants whose offsets PyTorch counts wrongly are refused", "[metal]") {
  Host host;
  for (const char* places : {"dhd", "hdd"}) {
    INFO(places);
    const AlignedBytes program = mixed_program(places, 16);
    const auto method = load(host, program.bytes());
    REQUIRE_FALSE(method.ok());
    CHECK_THAT(std::string(method.text()),
               ContainsSubstring("PyTorch counts wrongly where constants of the host and of the "
                                 "device are mixed"));
    CHECK(control().num_buffers == 0);
    CHECK(control().num_queues == 0);
  }
}

TEST_CASE("missing functions are named when the program is loaded", "[metal]") {
  Host host;
  const AlignedBytes original = read_file(Fixture("mlp").program().string());
  std::string bytes(reinterpret_cast<const char*>(original.bytes().data()),
                    original.bytes().size());
  // Names in the table of the library's symbols, each between two zeroes.
  const auto rename = [&](std::string_view from, std::string_view to) {
    const std::string name = '\0' + std::string(from) + '\0';
    const std::size_t place = bytes.find(name);
    REQUIRE(place != std::string::npos);
    REQUIRE(bytes.find(name, place + 1) == std::string::npos);
    bytes.replace(place + 1, to.size(), to);
  };
  rename("aoti_torch_mps_mm_out", "aoti_torch_mps_xx_out");
  rename("aoti_torch_mps_dispatch_single", "aoti_torch_mps_dispatch_simple");
  const AlignedBytes program(bytes_of(bytes));
  const auto method = load(host, program.bytes());
  REQUIRE_FALSE(method.ok());
  const std::string text(method.text());
  CHECK_THAT(text, ContainsSubstring("the model needs what is missing here"));
  CHECK_THAT(text, ContainsSubstring("aoti_torch_mps_xx_out"));
  CHECK_THAT(text, ContainsSubstring("aoti_torch_mps_dispatch_simple"));
  CHECK_THAT(text, !ContainsSubstring("aoti_torch_mps_mm_out"));
  CHECK(control().num_buffers == 0);
  CHECK(control().num_queues == 0);
  const auto unchanged = load(host, original.bytes());
  check_loaded_or_refused(Fixture("mlp").program().string(), unchanged.ok(), unchanged.text());
}
