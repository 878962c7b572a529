// SPDX-License-Identifier: MIT
#include "certificate.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/report/certificate.hpp"
#include "kit/report/json_reader.hpp"
#include "printable.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/binary/peek.hpp"
#include "tenon/host/files/mapped_file.hpp"
#include "tenon/host/files/read_file.hpp"
#include "tenon/host/files/sha256.hpp"

namespace tenon::inspect {
namespace {

using conformance::Certificate;

std::string list_text(std::string_view title, const std::vector<std::string>& rules) {
  if (rules.empty()) return {};
  std::string out = concat("  ", title, ":");
  for (const std::string& rule : rules) out += " " + printable(rule);
  return out + "\n";
}

std::string statement(const Arguments& arguments, const conformance::CertificateTerms& terms,
                      const Certificate& certificate) {
  std::string out = concat(printable(arguments.certificate), " vouches for ",
                           printable(arguments.plugin), "\n  SHA-256 ", terms.sha256, "\n  kit ",
                           terms.kit_version, ", boundary ", printable(certificate.abi_version),
                           ", level ", certificate.level, ", seed ", certificate.seed);
  if (!certificate.started.empty()) out += ", " + printable(certificate.started);
  out += concat("\n  ", certificate.num_judged, " of ", certificate.num_tests, " tests judged, ",
                certificate.kept.size(), " rules kept\n");
  out += list_text("broken as declared", certificate.expected);
  return out + list_text("not judged", certificate.not_judged);
}

}  // namespace

tool::Outcome check_certificate(const Arguments& arguments) {
  auto file = host::MappedFile::open(arguments.plugin);
  if (!file.ok()) return tool::Outcome::failed(ExitCode::invalid_file, std::move(file).status());
  auto text = host::read_file(arguments.certificate);
  if (!text.ok()) return tool::Outcome::failed(ExitCode::wrong_usage, std::move(text).status());
  const auto failed = [&](ExitCode code, Status why) {
    return tool::Outcome::failed(code, std::move(why).with_context(arguments.certificate));
  };
  auto report = conformance::report_from_json(*text);
  if (!report.ok()) return failed(ExitCode::wrong_usage, std::move(report).status());
  conformance::CertificateTerms terms;
  terms.sha256 = tenon::sha256_of(file->bytes()).to_hex();
  terms.level = arguments.certificate_level;
  if (const auto record = host::peek(arguments.plugin); record.ok()) {
    for (const host::BackendRecord& backend : record->backends)
      terms.backends.push_back(backend.id);
  }
  auto certificate = conformance::certificate_of(*report, terms);
  if (!certificate.ok()) return failed(ExitCode::failed, std::move(certificate).status());
  return {.output = statement(arguments, terms, *certificate)};
}

}  // namespace tenon::inspect
