// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/method/kernels.hpp"

#include <utility>

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Status KernelTable::add(std::string op, Kernel kernel) {
  const auto [at, added] = kernels_.try_emplace(std::move(op), kernel);
  if (added) return ok();
  return error(Error::RegistrationAlreadyRegistered, "operator ", at->first,
               " has a kernel already");
}

const Kernel* KernelTable::find(std::string_view op) const {
  const auto at = kernels_.find(op);
  return at == kernels_.end() ? nullptr : &at->second;
}

}}}  // namespace tenon::TENON_RELEASE::host
