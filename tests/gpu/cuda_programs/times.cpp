// SPDX-License-Identifier: MIT
#include "times.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

namespace gpu_programs {

using namespace tenon;
using namespace tenon::conformance;

namespace {

constexpr int warm = 10;
constexpr int rounds = 500;
/// The stand-in needs a run or two, and its times are none of a device.
constexpr int rounds_of_a_stand_in = 5;

/// The members of a JSON object for what `body` enqueues after `prepare`, which is not timed.
template <class Prepare, class Body>
Result<std::string> timed(const Driver& driver, void* stream, const char* name, Prepare prepare,
                          Body body) {
  TENON_TRY(const Driver::Owned begin, driver.create_event());
  TENON_TRY(const Driver::Owned end, driver.create_event());
  for (int i = 0; i < warm; ++i) {
    TENON_RETURN_IF_ERROR(prepare());
    TENON_RETURN_IF_ERROR(body());
  }
  std::vector<double> seconds;
  for (int i = 0; i < (driver.computes() ? rounds : rounds_of_a_stand_in); ++i) {
    TENON_RETURN_IF_ERROR(prepare());
    TENON_RETURN_IF_ERROR(driver.record(begin.get(), stream));
    TENON_RETURN_IF_ERROR(body());
    TENON_RETURN_IF_ERROR(driver.record(end.get(), stream));
    TENON_TRY(const double each, driver.seconds_between(begin.get(), end.get()));
    seconds.push_back(each);
  }
  std::ranges::sort(seconds);
  char text[160];
  std::snprintf(text, sizeof text, "\"%s\": %.9f, \"%s_median\": %.9f", name, seconds.front(), name,
                seconds[seconds.size() / 2]);
  return std::string(text);
}

/// A run of the method as a graph. NotSupported where it cannot be captured.
Result<Driver::Owned> capture(const Driver& driver, void* stream, CaseMethod& method) {
  TENON_RETURN_IF_ERROR(driver.begin_capture(stream));
  Status status = method.execute();
  auto graph = driver.end_capture(stream);
  if (!status.ok()) return status;
  return graph;
}

/// Whether the program itself copies arguments from or to the host.
bool copies(CaseMethod& method) {
  const auto is_on_host = [](const tenon_value& value) {
    return value.kind == TENON_VALUE_TENSOR &&
           value.as.tensor->dl.device.device_type == TENON_DL_CPU;
  };
  const auto& of = method.method();
  for (std::size_t i = 0; i < of.num_inputs(); ++i) {
    if (is_on_host(of.input(i))) return true;
  }
  for (std::size_t i = 0; i < of.num_outputs(); ++i) {
    if (is_on_host(of.output(i))) return true;
  }
  return false;
}

Status compare(CaseMethod& method, const CaseRun& run, const Tolerances& tolerances,
               bool compares) {
  TENON_TRY(const auto differences, method.differences(run, tolerances));
  if (differences.empty() || !compares) return ok();
  return error(Error::Internal, differences.front().text);
}

}  // namespace

Result<std::string> time_run(const Driver& driver, void* stream, CaseMethod& method,
                             const CaseRun& run, const Tolerances& tolerances, bool compares) {
  // A run may write over the inputs.
  const auto set_inputs = [&] { return method.set_inputs(run); };
  TENON_TRY(const std::string plain,
            timed(driver, stream, "plain", set_inputs, [&] { return method.execute(); }));
  TENON_RETURN_IF_ERROR(compare(method, run, tolerances, compares).with_context("plain"));
  const bool has_copies = copies(method);
  const std::string begin = concat("\"copies\": ", has_copies ? "true" : "false", ", ", plain);
  TENON_RETURN_IF_ERROR(set_inputs());
  auto graph = capture(driver, stream, method);
  if (!graph.ok()) {
    Status status = std::move(graph).status();
    if (status.error() != Error::NotSupported) return status;
    std::string why = tenon::describe(status);
    std::ranges::replace_if(why, [](char c) { return c == '"' || c == '\\'; }, '\'');
    return concat(begin, ", \"why_not_captured\": \"", why, "\"");
  }
  auto captured =
      timed(driver, stream, "captured", ok, [&] { return driver.launch(graph->get(), stream); });
  if (!captured.ok()) return std::move(captured).status();
  // Copies to the host are no part of the graph.
  if (!has_copies) {
    TENON_RETURN_IF_ERROR(compare(method, run, tolerances, compares).with_context("captured"));
  }
  return concat(begin, ", ", *captured);
}

}  // namespace gpu_programs
