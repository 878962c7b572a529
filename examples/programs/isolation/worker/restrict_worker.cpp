// SPDX-License-Identifier: MIT
#include "restrict_worker.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <vector>

#include "boundary/descriptors.hpp"
#include "boundary/restriction.hpp"
#if defined(TENON_WORKER_SANDBOX)
#include "sandbox/sandbox.hpp"
#include "sandbox/violations.hpp"
#endif

namespace tenon::isolated {

#if defined(TENON_WORKER_SANDBOX)

namespace {

Result<SandboxOptions> options_of(const RestrictionRequest& request) {
  SandboxOptions out;
  const auto profile = profile_named(request.profile);
  if (!profile) {
    return error(Error::InvalidArgument, "the profile '", request.profile,
                 "' is unknown, expected none, open, driver or strict");
  }
  out.profile = *profile;
  for (const char* const each : request.permissions) {
    const std::string_view text = each;
    const auto take = [&](std::string_view kind, std::vector<std::string>& to) {
      if (!text.starts_with(kind)) return false;
      to.emplace_back(text.substr(kind.size()));
      return true;
    };
    if (!take(read_permission, out.readable) && !take(write_permission, out.writable) &&
        !take(device_permission, out.devices) && !take(program_permission, out.programs)) {
      return error(Error::InvalidArgument, "the permission '", text,
                   "' is unknown, expected read=, write=, device= or program= and a path");
    }
  }
  return out;
}

}  // namespace

Result<WorkerRestriction> WorkerRestriction::prepare(const RestrictionRequest& request) {
  WorkerRestriction out;
  out.request_ = request;
  if (out.is_none()) return out;
  TENON_RETURN_IF_ERROR(options_of(request));
  void* const shared = ::mmap(nullptr, sizeof(Violations), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    const int reason = errno;
    return error(Error::MemoryAllocationFailed,
                 "no memory for what is refused: ", errno_text(reason));
  }
  out.shared_ = new (shared) Violations{};
  return out;
}

Status WorkerRestriction::apply(int socket) {
  if (is_none()) return ok();
  TENON_TRY(SandboxOptions options, options_of(request_));
  options.descriptors = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, socket};
  options.violations = static_cast<Violations*>(shared_);
  TENON_RETURN_IF_ERROR(restrict_process(options));
  return ok();
}

std::string WorkerRestriction::refusals() const {
  std::string out;
  if (!shared_) return out;
  for (const Violation& each : read_violations(*static_cast<const Violations*>(shared_))) {
    out += (out.empty() ? "" : "; ") + describe(each);
  }
  return out;
}

#else

Result<WorkerRestriction> WorkerRestriction::prepare(const RestrictionRequest& request) {
  WorkerRestriction out;
  out.request_ = request;
  if (out.is_none()) return out;
  return error(Error::NotSupported, "the profile '", request.profile,
               "': this tenon-worker has none, only those for Linux on x86-64 and arm64");
}

Status WorkerRestriction::apply(int) { return ok(); }

std::string WorkerRestriction::refusals() const { return {}; }

#endif

}  // namespace tenon::isolated
