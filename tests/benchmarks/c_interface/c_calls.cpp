// SPDX-License-Identifier: MIT
//
// What `tenon_method_execute` costs more than the C++ host's `Method::execute`, which it calls:
// c-calls PLUGIN PROGRAM [ROUNDS]. The two take turns, in rounds of 100,000 runs of one program,
// whose inputs are zeros; the program of tests/fixtures/bench without a call is the least that a
// run is.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/host/backend_registry.hpp"
#include "tenon/host/c/tenon_host.h"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace {

constexpr int runs = 100'000;

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "c-calls: %s\n", text.c_str());
  std::exit(EXIT_FAILURE);
}

template <class Run>
double nanoseconds(const Run& run) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < runs; ++i) {
    if (!run()) fail("a run failed");
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / runs;
}

/// A method of the C++ host, which is in this program.
class Cpp {
 public:
  Cpp(const char* plugin, const char* path) {
    const auto known = registry_.register_backend(plugin);
    if (!known.ok()) fail(std::string(known.text()));
    auto program = tenon::host::Program::open(path);
    if (!program.ok()) fail(std::string(program.text()));
    tenon::host::MethodOptions options;
    options.registry = &registry_;
    auto method = tenon::host::Method::load(*program, "forward", std::move(options));
    if (!method.ok()) fail(std::string(method.text()));
    method_ = *std::move(method);
    for (std::size_t i = 0; i < method_->num_inputs(); ++i) {
      const tenon_tensor& tensor = *method_->input(i).as.tensor;
      const auto& zeros = inputs_.emplace_back(static_cast<std::size_t>(tensor.nbytes));
      const std::vector<std::int64_t> sizes(tensor.dl.shape, tensor.dl.shape + tensor.dl.ndim);
      const auto set =
          method_->set_input(i, {static_cast<tenon::ScalarType>(tensor.scalar_type), sizes, zeros});
      if (!set.ok()) fail(std::string(set.text()));
    }
  }
  double time() {
    tenon::host::Method& method = *method_;
    return nanoseconds([&] { return method.execute().ok(); });
  }

 private:
  tenon::host::BackendRegistry registry_;
  std::unique_ptr<tenon::host::Method> method_;
  std::vector<std::vector<std::byte>> inputs_;
};

/// A method of libtenon.so.
class C {
 public:
  C(const char* plugin, const char* path) {
    check(tenon_registry_create(nullptr, &registry_, &error_));
    check(tenon_registry_register_plugin(registry_, plugin, nullptr, &error_));
    check(tenon_program_open(path, nullptr, &program_, &error_));
    tenon_method_options options{};
    options.struct_size = sizeof options;
    options.registry = registry_;
    check(tenon_method_load(program_, "forward", &options, &method_, &error_));
    for (std::uint64_t i = 0; i < tenon_method_num_inputs(method_); ++i) {
      const tenon_tensor& declared = *tenon_method_get_input(method_, i)->as.tensor;
      tenon_dl_tensor tensor = declared.dl;
      tensor.data = inputs_.emplace_back(static_cast<std::size_t>(declared.nbytes)).data();
      check(tenon_method_set_input(method_, i, &tensor, &error_));
    }
  }
  C(const C&) = delete;
  C& operator=(const C&) = delete;
  ~C() {
    tenon_method_destroy(method_);
    tenon_program_destroy(program_);
    tenon_registry_destroy(registry_);
  }
  double time() {
    tenon_method* const method = method_;
    return nanoseconds([&] { return tenon_method_execute(method, &error_) == TENON_STATUS_OK; });
  }

 private:
  void check(tenon_status status) {
    if (status != TENON_STATUS_OK) fail(tenon_error_text(error_));
  }

  tenon_error* error_ = nullptr;
  tenon_registry* registry_ = nullptr;
  tenon_program* program_ = nullptr;
  tenon_method* method_ = nullptr;
  std::vector<std::vector<std::byte>> inputs_;
};

double median(std::vector<double> all) {
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  return all[all.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) fail("expected PLUGIN PROGRAM [ROUNDS]");
  const int rounds = argc > 3 ? std::max(1, std::atoi(argv[3])) : 51;
  Cpp cpp(argv[1], argv[2]);
  C c(argv[1], argv[2]);
  std::vector<double> of_cpp, of_c, more;
  for (int i = 0; i < rounds; ++i) {
    of_cpp.push_back(cpp.time());
    of_c.push_back(c.time());
    more.push_back(of_c.back() - of_cpp.back());
  }
  std::printf("%-18s %10s %10s\n", "ns for one run", "fastest", "median");
  std::printf("%-18s %10.2f %10.2f\n", "C++", *std::ranges::min_element(of_cpp), median(of_cpp));
  std::printf("%-18s %10.2f %10.2f\n", "C", *std::ranges::min_element(of_c), median(of_c));
  std::printf("%-18s %10.2f %10.2f\n", "C above C++",
              *std::ranges::min_element(of_c) - *std::ranges::min_element(of_cpp), median(more));
}
