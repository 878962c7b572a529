// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/data/data_files.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/lists.hpp"
#include "tenon/host/layers/data/merged_data_map.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/program/tensor_layout.hpp"
#include "tenon/host/loader/registry/registry.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

std::vector<std::shared_ptr<const DataFile>> data_files_of(const MethodOptions& options) {
  std::vector<std::shared_ptr<const DataFile>> out;
  const auto add = [&](const DataFiles& layer) {
    out.insert(out.end(), layer.files().begin(), layer.files().end());
  };
  if (options.registry) for_each_layer<DataFiles>(options.registry->layers(), add);
  for_each_layer<DataFiles>(options.layers, add);
  return out;
}

/// The files of one method.
class DataPart final : public PartOf<DataPart> {
 public:
  [[nodiscard]] Status before_load(Loading& loading) override {
    MethodState& method = loading.method;
    // The first of several parts has the files of all.
    if (find_part<DataPart>(method) != this) return ok();
    files_ = data_files_of(method.options);
    TENON_TRY(map_, MergedDataMap::create(method.program, files_));
    method.named_data = map_->abi();
    return ok();
  }

  [[nodiscard]] Result<std::optional<std::span<const std::byte>>> find_external(
      Loading&, std::string_view name, const schema::Tensor& tensor) override {
    for (const auto& file : files_) {
      const auto index = file->find_key(name);
      if (!index) continue;
      TENON_RETURN_IF_ERROR(check_layout(tensor, name, file->key_layout(*index)));
      return file->key_data(*index);
    }
    if (files_.empty()) return std::nullopt;
    return error(Error::NotFound, "external tensor '", name, "' is in none of the data files");
  }

 private:
  /// ExecuTorch: validateTensorLayout.
  static Status check_layout(const schema::Tensor& from, std::string_view name,
                             const std::optional<StoredTensorLayout>& stored) {
    if (!stored) {
      return error(Error::InvalidExternalData, "external tensor '", name,
                   "': the data has no tensor layout");
    }
    const StoredTensorLayout wanted = layout_of(from);
    const bool same = stored->scalar_type == wanted.scalar_type &&
                      tenon::detail::are_equal(stored->sizes, wanted.sizes) &&
                      tenon::detail::are_equal(stored->dim_order, wanted.dim_order);
    if (same) return ok();
    return error(Error::InvalidExternalData, "external tensor '", name,
                 "': dtype, sizes or dim order in the data file differ from the program's");
  }

  std::vector<std::shared_ptr<const DataFile>> files_;
  std::shared_ptr<const MergedDataMap> map_;  ///< Of the files and the program.
};

}  // namespace detail

Result<std::unique_ptr<detail::MethodPart>> DataFiles::attach(detail::LoadRequest&) const {
  std::unique_ptr<detail::MethodPart> part;
  if (!files_.empty()) part = std::make_unique<detail::DataPart>();
  return part;
}

}}}  // namespace tenon::TENON_RELEASE::host
