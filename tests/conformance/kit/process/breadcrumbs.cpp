// SPDX-License-Identifier: MIT
#include "kit/process/breadcrumbs.hpp"

#include <algorithm>
#include <cstdio>
#include <span>

#include "kit/platform/system.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/host/platform/read_at.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

std::string describe_call(const Crumb& crumb) {
  std::string out = concat(crumb.name.data(), " (");
  if (crumb.delegate != 0) out += concat("delegate ", crumb.delegate, ", ");
  return concat(out, "thread ", crumb.thread, ")");
}

}  // namespace

Result<Breadcrumbs> Breadcrumbs::create() {
  host::FileDescriptor descriptor = platform::make_shared_file("tenon-breadcrumbs", sizeof(Ring));
  if (!descriptor.valid()) {
    return error(Error::AccessFailed, "breadcrumbs: no shared memory of ", sizeof(Ring), " bytes");
  }
  return open(std::move(descriptor));
}

Result<Breadcrumbs> Breadcrumbs::copy() const {
  void* memory = platform::map_private(sizeof(Ring));
  if (!memory) {
    return error(Error::MemoryAllocationFailed, "breadcrumbs: no memory of ", sizeof(Ring),
                 " bytes");
  }
  Breadcrumbs out(static_cast<Ring*>(memory), host::FileDescriptor());
  const std::span to(static_cast<std::byte*>(memory), sizeof(Ring));
  if (host::read_at(descriptor_.get(), to, 0) != static_cast<std::ptrdiff_t>(sizeof(Ring))) {
    return error(Error::AccessFailed, "breadcrumbs: cannot be read");
  }
  for (Crumb& crumb : out.ring_->crumbs) crumb.name.back() = '\0';
  return out;
}

Result<Breadcrumbs> Breadcrumbs::open(host::FileDescriptor descriptor) {
  void* memory = platform::map_shared(descriptor.get(), sizeof(Ring));
  if (!memory) {
    return error(Error::AccessFailed, "breadcrumbs: cannot be mapped");
  }
  return Breadcrumbs(static_cast<Ring*>(memory), std::move(descriptor));
}

Breadcrumbs::~Breadcrumbs() {
  if (ring_) platform::unmap(ring_, sizeof(Ring));
}

Crumb* Breadcrumbs::enter(const char* function, std::uint32_t delegate) noexcept {
  const std::uint64_t number = ring_->count.fetch_add(1) + 1;
  Crumb& crumb = ring_->crumbs[number % size];
  crumb.number = number;
  crumb.returned = 0;
  std::snprintf(crumb.name.data(), crumb.name.size(), "%s", function);
  crumb.thread = thread_number();
  crumb.delegate = delegate;
  return &crumb;
}

std::vector<std::string> Breadcrumbs::last(std::size_t most) const {
  std::vector<std::string> out;
  const std::vector<const Crumb*> crumbs = in_order();
  const std::size_t skipped = crumbs.size() - std::min(most, crumbs.size());
  for (std::size_t i = skipped; i < crumbs.size(); ++i) {
    std::string line = concat("call ", crumbs[i]->number.load(), ": ", describe_call(*crumbs[i]));
    if (crumbs[i]->returned == 0) {
      line += ": has not returned";
    } else if (crumbs[i]->status != 0) {
      line += concat(" returned ", error_name(static_cast<Error>(crumbs[i]->status)));
    }
    out.push_back(std::move(line));
  }
  return out;
}

std::string Breadcrumbs::running() const {
  std::string out;
  for (const Crumb* crumb : in_order()) {
    if (crumb->returned != 0) continue;
    out += concat(out.empty() ? "" : "; ", describe_call(*crumb), ", call ", crumb->number.load());
  }
  return out;
}

std::string_view Breadcrumbs::rule_of_a_crash() const {
  for (const Crumb* crumb : in_order()) {
    if (crumb->returned != 0) continue;
    const std::string_view name = crumb->name.data();
    if (name == destroy_of_null) return "TN-DES-2";
    if (name == "is_available") return "TN-BCK-6";
  }
  return "TN-BCK-7";
}

std::uint32_t Breadcrumbs::thread_number() noexcept {
  thread_local std::uint32_t mine = 0;
  if (mine == 0) mine = ring_->threads.fetch_add(1) + 1;
  return mine;
}

std::vector<const Crumb*> Breadcrumbs::in_order() const {
  std::vector<const Crumb*> out;
  for (const Crumb& crumb : ring_->crumbs) {
    if (crumb.number != 0) out.push_back(&crumb);
  }
  std::sort(out.begin(), out.end(),
            [](const Crumb* a, const Crumb* b) { return a->number.load() < b->number.load(); });
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
