// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "tenon/abi/extensions/check_blob.h"
#include "tenon/abi/extensions/device_memory.h"
#include "tenon/abi/extensions/devices.h"
#include "tenon/abi/extensions/kernels.h"
#include "tenon/abi/extensions/memory_info.h"
#include "tenon/abi/extensions/options.h"
#include "tenon/abi/extensions/preprocess.h"
#include "tenon/abi/extensions/sessions.h"
#include "tenon/abi/extensions/streams.h"
#include "tenon/host/backend_api.hpp"

namespace tenon::conformance::detail {

/// A backend's extensions as `Boundary` shows them to a host: the same abilities, with each call
/// watched. An extension that is not in the headers is not shown, because its functions would get
/// pointers that are not the plugin's own.
class WatchedExtensions {
 public:
  /// The table for a host, of the plugin's table `theirs` for `id`; null for an unknown id. The
  /// same one each time; valid as long as this.
  [[nodiscard]] const void* wrap(std::string_view id, const void* theirs);

  // The plugin's own tables, complete; their functions are null when there is no such extension.
  tenon_check_blob_v1 check_blob{};
  tenon_device_memory_v1 device_memory{};
  tenon_devices_v1 devices{};
  tenon_kernels_v1 kernels{};
  tenon_memory_info_v1 memory_info{};
  tenon_options_v1 options{};
  tenon_preprocess_v1 preprocess{};
  tenon_sessions_v1 sessions{};
  tenon_streams_v1 streams{};

 private:
  template <class Table>
  static const void* keep(Table& mine, const void* theirs, Table& shown, const Table& functions);

  tenon_check_blob_v1 shown_check_blob_{};
  tenon_device_memory_v1 shown_device_memory_{};
  tenon_devices_v1 shown_devices_{};
  tenon_kernels_v1 shown_kernels_{};
  tenon_memory_info_v1 shown_memory_info_{};
  tenon_options_v1 shown_options_{};
  tenon_preprocess_v1 shown_preprocess_{};
  tenon_sessions_v1 shown_sessions_{};
  tenon_streams_v1 shown_streams_{};
};

}  // namespace tenon::conformance::detail
