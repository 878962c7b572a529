// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Gives a method `.ptd` files: its external tensors are found there, and its backends see the
/// named data of the files and of the program as one map (MergedDataMap). Several layers of this
/// kind give the files of all.
///
/// errors of a load: as MergedDataMap::create; NotFound for an external tensor that is in no file,
/// InvalidExternalData for a tensor that a file has with another dtype, other sizes or another dim
/// order.
class DataFiles final : public MethodLayer {
 public:
  /// `files` in their order; none is null.
  explicit DataFiles(std::vector<std::shared_ptr<const DataFile>> files)
      : files_(std::move(files)) {}

  [[nodiscard]] std::span<const std::shared_ptr<const DataFile>> files() const noexcept {
    return files_;
  }

  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const override;

 private:
  std::vector<std::shared_ptr<const DataFile>> files_;
};

namespace detail {

/// The files of all `DataFiles` that a load with `options` has, in their order.
[[nodiscard]] std::vector<std::shared_ptr<const DataFile>> data_files_of(
    const MethodOptions& options);

}  // namespace detail

}}}  // namespace tenon::TENON_RELEASE::host
