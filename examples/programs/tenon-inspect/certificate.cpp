// SPDX-License-Identifier: MIT
#include "inspect.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "kit/report/certificate.hpp"
#include "kit/report/json_reader.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/layers/inspect/platforms.hpp"
#include "tenon/host/layers/trust/sha256.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/read_file.hpp"
#include "tenon/host/platform/trusted_path.hpp"
#include "tenon/host/signatures.hpp"
#include "tool.hpp"

namespace tenon::inspect {
namespace {

using conformance::Certificate;

std::string list_text(std::string_view title, const std::vector<std::string>& rules) {
  if (rules.empty()) return {};
  std::string out = concat("  ", title, ":");
  for (const std::string& rule : rules) out += " " + printable(rule);
  return out + "\n";
}

/// Who signed the report whose text was read; the signature is next to its file.
Result<host::SignatureReport> signer_of(const std::string& path, std::string_view text,
                                        const host::SignaturePolicy& policy) {
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(host::path_of(path), failed);
  if (failed) return error(Error::AccessFailed, path, ": ", failed.message());
  TENON_TRY(const host::OpenedFile file, host::open_file(absolute, host::Trust::caller));
  return policy.examine(std::as_bytes(std::span(text)), file);
}

std::string signature_text(const host::SignatureReport& signer) {
  if (signer.state != host::SignatureState::valid) {
    return concat("  not required: ", printable(signer.reason), "\n");
  }
  return concat("  signed by ", printable(signer.publisher), ", key ", signer.key_id,
                signer.trusted_comment.empty() ? "" : ": ", printable(signer.trusted_comment),
                "\n");
}

std::string statement(const Arguments& arguments, const conformance::CertificateTerms& terms,
                      const Certificate& certificate,
                      const std::optional<host::SignatureReport>& signer) {
  std::string out = concat(printable(arguments.certificate), " vouches for ",
                           printable(arguments.plugin), "\n  SHA-256 ", terms.sha256, "\n  kit ",
                           terms.kit_version, ", boundary ", printable(certificate.abi_version),
                           ", level ", certificate.level, ", seed ", certificate.seed);
  if (!certificate.started.empty()) out += ", " + printable(certificate.started);
  out += concat("\n  ", certificate.num_judged, " of ", certificate.num_tests, " tests judged, ",
                certificate.kept.size(), " rules kept\n");
  if (signer) out += signature_text(*signer);
  out += list_text("broken as declared", certificate.expected);
  return out + list_text("not judged", certificate.not_judged);
}

}  // namespace

tool::Outcome check_certificate(const Arguments& arguments) {
  auto file = host::MappedFile::open(arguments.plugin);
  if (!file.ok()) return tool::Outcome::failed(ExitCode::invalid_file, std::move(file).status());
  // Of these bytes, as the hash is, for whatever platform the plugin is.
  const auto platform = host::platform_of(file->bytes());
  auto record = host::peek(file->bytes(), arguments.plugin, platform.value_or(host::this_platform));
  if (!record.ok()) {
    return tool::Outcome::failed(ExitCode::invalid_file, std::move(record).status());
  }
  auto text = host::read_file(arguments.certificate, conformance::max_report_size);
  if (!text.ok()) return tool::Outcome::failed(ExitCode::wrong_usage, std::move(text).status());
  const auto failed = [&](ExitCode code, Status why) {
    return tool::Outcome::failed(code, std::move(why).with_context(arguments.certificate));
  };
  auto policy = host::SignaturePolicy::from_environment();
  if (!policy.ok()) return tool::Outcome::failed(ExitCode::wrong_usage, std::move(policy).status());
  std::optional<host::SignatureReport> signer;
  if (*policy) {
    auto found = signer_of(arguments.certificate, *text, **policy);
    if (!found.ok()) return failed(ExitCode::wrong_usage, std::move(found).status());
    signer = *std::move(found);
    if (!(*policy)->admits(signer->state)) {
      return failed(ExitCode::failed, error(Error::AccessFailed, signer->reason));
    }
  }
  auto report = conformance::report_from_json(*text);
  if (!report.ok()) return failed(ExitCode::wrong_usage, std::move(report).status());
  conformance::CertificateTerms terms;
  terms.sha256 = tenon::sha256_of(file->bytes()).to_hex();
  terms.level = arguments.certificate_level;
  for (const host::BackendRecord& backend : record->backends) terms.backends.push_back(backend.id);
  auto certificate = conformance::certificate_of(*report, terms);
  if (!certificate.ok()) return failed(ExitCode::failed, std::move(certificate).status());
  return {.output = statement(arguments, terms, *certificate, signer)};
}

}  // namespace tenon::inspect
