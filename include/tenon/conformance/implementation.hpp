// SPDX-License-Identifier: MIT
//
// The definitions of the conformance kit without its suites, for a program that does not link the
// library tenon-conformance-kit. Exactly one source of the program includes it; the suites are in
// <tenon/conformance/suites/implementation.hpp>. Needs, in this source or another one, those of
// <tenon/host.hpp> with arrays and inspect, and of the ahead-of-time compiler; and the library fmt.
#pragma once

// Before the rest, so that it is the first of what a linker finds twice.
namespace tenon::conformance {

void include_tenon_conformance_implementation_hpp_in_exactly_one_source() noexcept {}

}  // namespace tenon::conformance

#include "tenon/conformance/run/test.hpp"

#include "tenon/conformance/impl/boundary/argument_roles.hpp"
#include "tenon/conformance/impl/boundary/boundary.hpp"
#include "tenon/conformance/impl/boundary/extensions.hpp"
#include "tenon/conformance/impl/boundary/host_extensions.hpp"
#include "tenon/conformance/impl/boundary/watched_backend.hpp"
#include "tenon/conformance/impl/case/case.hpp"
#include "tenon/conformance/impl/case/case_file.hpp"
#include "tenon/conformance/impl/case/compare.hpp"
#include "tenon/conformance/impl/case/input_sizes.hpp"
#include "tenon/conformance/impl/fixtures/case_method.hpp"
#include "tenon/conformance/impl/fixtures/case_runner.hpp"
#include "tenon/conformance/impl/fixtures/loaded_plugin.hpp"
#include "tenon/conformance/impl/process/backtrace.hpp"
#include "tenon/conformance/impl/process/breadcrumbs.hpp"
#include "tenon/conformance/impl/process/channel.hpp"
#include "tenon/conformance/impl/process/crash_reporter.hpp"
#include "tenon/conformance/impl/process/guarded_memory.hpp"
#include "tenon/conformance/impl/process/process_state.hpp"
#include "tenon/conformance/impl/process/resources.hpp"
#include "tenon/conformance/impl/process/source_lines.hpp"
#include "tenon/conformance/impl/report/baseline.hpp"
#include "tenon/conformance/impl/report/certificate.hpp"
#include "tenon/conformance/impl/report/escape.hpp"
#include "tenon/conformance/impl/report/html.hpp"
#include "tenon/conformance/impl/report/json.hpp"
#include "tenon/conformance/impl/report/json_reader.hpp"
#include "tenon/conformance/impl/report/junit.hpp"
#include "tenon/conformance/impl/report/markdown.hpp"
#include "tenon/conformance/impl/report/options.hpp"
#include "tenon/conformance/impl/report/text.hpp"
#include "tenon/conformance/impl/report/view.hpp"
#include "tenon/conformance/impl/run/context.hpp"
#include "tenon/conformance/impl/run/embed.hpp"
#include "tenon/conformance/impl/run/plan.hpp"
#include "tenon/conformance/impl/run/random.hpp"
#include "tenon/conformance/impl/run/subject.hpp"
#include "tenon/conformance/impl/run/subject_file.hpp"
#include "tenon/conformance/impl/run/test.hpp"
#include "tenon/conformance/impl/verdict.hpp"
