// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <tenon/tenon.hpp>

// A backend without a mistake, in the parts that a case takes or leaves out.

struct Named {
  static constexpr std::string_view id = "X";
};

struct Loads {
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
};

struct Runs : Loads {
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

struct Whole : Named, Runs {};

// Each case is a plugin, and all are in one source: a symbol for each line that makes a plugin.
#define JOIN(a, b) a##b
#define PLUGIN_OF_LINE(line) JOIN(plugin_of_line_, line)
#define tenon_plugin_v1 PLUGIN_OF_LINE(__LINE__)
