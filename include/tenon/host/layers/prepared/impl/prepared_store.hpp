// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/prepared/prepared_store.hpp"

#include <memory>
#include <optional>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/prepared/impl/blob_preparation.hpp"
#include "tenon/host/layers/prepared/prepare_table.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/plugin/calls.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The store of one method: each `init` finds there what is kept of its blob.
class PreparedPart final : public MethodPart {
 public:
  static constexpr char key = 0;

  /// `store` must outlive this.
  explicit PreparedPart(const PreparedStore& store) noexcept : store_(store) {}

  [[nodiscard]] const void* kind() const noexcept override { return &key; }

  [[nodiscard]] Status init_context(Loading&, DelegateLoad& delegate) override {
    PreparedOpener& opener = preparation_.emplace(store_, *delegate.use.backend);
    service_ = {&PreparedOpener::key, &opener, delegate.context.services};
    delegate.context.services = &service_;
    return ok();
  }

 private:
  const PreparedStore& store_;
  std::optional<BlobPreparation> preparation_;  ///< Of the latest `init`.
  Service service_;
};

}  // namespace detail

Result<std::unique_ptr<detail::MethodPart>> PreparedStore::attach(detail::LoadRequest&) const {
  return std::make_unique<detail::PreparedPart>(*this);
}

}}}  // namespace tenon::TENON_RELEASE::host
