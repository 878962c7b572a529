// SPDX-License-Identifier: MIT
// A stock ExecuTorch application that runs a program with a plugin: app PLUGIN.so MODEL.pte
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cstdio>
#include <string>
#include <tenon/executorch/register_plugins.hpp>

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: app PLUGIN.so MODEL.pte\n", stderr), 2;
  // [app]
  const auto plugins = tenon::bridge::register_plugins(argv[1]);
  if (!plugins.ok()) return std::fprintf(stderr, "%s\n", std::string(plugins.text()).c_str()), 1;

  executorch::extension::Module module(argv[2]);
  const auto input = executorch::extension::make_tensor_ptr({1, 4}, {0.1f, 0.2f, 0.3f, 0.4f});
  const auto outputs = module.forward(input);
  if (!outputs.ok()) {
    const std::string text(tenon::bridge::last_error().text());
    return std::fprintf(stderr, "0x%x: %s\n", unsigned(outputs.error()), text.c_str()), 1;
  }
  const auto output = outputs->at(0).toTensor();
  for (ssize_t i = 0; i < output.numel(); ++i) {
    std::printf("%g\n", static_cast<double>(output.const_data_ptr<float>()[i]));
  }
  // [app]
}
