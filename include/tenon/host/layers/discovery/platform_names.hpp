// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "tenon/host/loader/plugin/platform.hpp"

/// Names of platforms, as manifests have them.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Name of the platform's machine as its system has it ("x86_64", "aarch64" of Linux, "arm64" of
/// macOS and Windows); "machine number N" for an unknown machine. threads: any.
[[nodiscard]] std::string machine_name(const Platform& platform);

/// The name of a platform in manifests: "linux-x86_64", "macos-arm64", "windows-x86_64". threads:
/// any.
[[nodiscard]] std::string platform_name(const Platform& platform = this_platform);

}}}  // namespace tenon::TENON_RELEASE::host
