// SPDX-License-Identifier: MIT
//
// The plugin in C (examples/backends/in_c) by the C interface: its state and its option.
#include <string>
#include <vector>

#include "c_support.hpp"

using namespace tenon::test;
using Vector = std::vector<float>;

TEST_CASE("a session of a plugin in C has a copy of a state and options of its own", "[c]") {
  using namespace std::string_literals;
  const auto registry = new_registry();
  call(&tenon_registry_register_plugin, registry.get(), TENON_TEST_IN_C,
       static_cast<const char*>(nullptr));
  // The sums of the inputs so far, times the option `gain`: version 1, a = 1, b = 0, 4 elements.
  const auto program = program_of("SCLB\1\0\0\0\0\0\x80\x3f\0\0\0\0\4\0\0\0"s, "ScaleBias");
  auto of_load = sized<tenon_method_options>();
  of_load.registry = registry.get();
  const auto method = load(program.get(), of_load);
  CHECK(run(method.get()) == Vector{1, 2, 3, 4});

  auto gain = real_option("gain", 10);
  const auto backend = options_for("ScaleBias", &gain);
  auto options = sized<tenon_session_options>();
  options.flags = TENON_SESSION_COPY_OWN_STATE;
  options.backend_options = &backend;
  options.num_backend_options = 1;
  const tenon_session_options* const given = &options;
  tenon_session* made = nullptr;
  call(&tenon_method_create_session, method.get(), given, &made);
  const SessionHandle session(made);
  call(&tenon_method_use_session, method.get(), session.get());
  CHECK(run(method.get()) == Vector{20, 40, 60, 80});
  call(&tenon_method_use_session, method.get(), static_cast<tenon_session*>(nullptr));
  CHECK(run(method.get()) == Vector{2, 4, 6, 8});

  gain.as.real = 1e9;
  CHECK(failed(&tenon_method_create_session, method.get(), given, &made).status ==
        TENON_STATUS_INVALID_ARGUMENT);
}
