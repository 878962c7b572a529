// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device_tensors.hpp"
#include "kernels.hpp"
#include "large_product.hpp"

/// A GPU through its driver, for tests: the kernels, loaded as a plugin loads them, memory with
/// guarded ends, and failures.
namespace gpu_test {

namespace kernels = tenon::cuda_aoti::kernels;

/// Ends the program with the name and result of a failed call, because later results would be void.
[[noreturn]] void give_up(const std::string& text);

/// The first device, with the kernels loaded. One for the whole program.
class Gpu {
 public:
  /// Empty when a device runs the kernels, else the reason why none does.
  std::string open();

  std::string name() const { return name_; }
  std::uint64_t allocate(std::size_t nbytes) const;
  void free(std::uint64_t address) const;
  void upload(std::uint64_t to, const void* from, std::size_t nbytes) const;
  void download(void* to, std::uint64_t from, std::size_t nbytes) const;
  void synchronize() const;
  /// Launches on a stream of its own.
  kernels::Launcher launcher();
  void* stream() const { return stream_; }
  /// The file of cuBLASLt, empty for the system's; none where it cannot run.
  std::optional<std::string> cublaslt() const;
  void set_cublaslt(std::string path) { cublaslt_ = std::move(path); }
  /// Tiles of a product that it computes at once.
  std::int64_t tiles_at_once() const { return tiles_at_once_; }
  /// Enqueues a copy of adjacent bytes within the device.
  tenon::Status copy(std::uint64_t to, std::uint64_t from, std::size_t nbytes) const;
  /// Enqueues a copy of rows of `width` bytes with pitches.
  tenon::Status copy_rows(std::uint64_t to, std::size_t to_pitch, std::uint64_t from,
                          std::size_t from_pitch, std::size_t width, std::size_t height) const;
  /// Seconds that what `body` enqueues takes the device, as a graph: the least of several.
  tenon::Result<double> time(const std::function<tenon::Status()>& body) const;
  /// Captures what `body` launches and runs it `times` times.
  template <class Body>
  void replay(int times, Body body) {
    begin_capture();
    body(launcher());
    end_capture(times);
  }

 private:
  tenon::Status launch(const kernels::Launch& what);
  void begin_capture();
  void end_capture(int times);

  std::string name_;
  std::string cublaslt_;
  std::int64_t tiles_at_once_ = 0;
  void* stream_ = nullptr;  // Of the driver, as its functions.
  std::map<std::string, void*> functions_;
};

Gpu& gpu();

/// Reports a failure; the program then ends with 1.
void fail(const std::string& text);
/// Reports that the part that runs lacks what it needs, which is no success.
void not_available(const std::string& reason);
/// The reason that was reported since the last call, or nothing.
std::string take_reason();
int failures();

/// Device memory with 256 guard bytes on either side.
class Memory {
 public:
  explicit Memory(std::size_t nbytes);
  template <class T>
  explicit Memory(const std::vector<T>& content) : Memory(content.size() * sizeof(T)) {
    if (nbytes_ != 0) gpu().upload(address(), content.data(), nbytes_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  /// Reports a failure when a kernel wrote to the guard bytes.
  ~Memory();

  std::uint64_t address() const { return base_ + guard; }
  std::size_t nbytes() const { return nbytes_; }
  template <class T>
  std::vector<T> read() const {
    std::vector<T> out(nbytes_ / sizeof(T));
    if (nbytes_ != 0) gpu().download(out.data(), address(), nbytes_);
    return out;
  }

 private:
  static constexpr std::size_t guard = 256;
  std::size_t nbytes_;
  std::uint64_t base_;
};

void test_products();
/// A product of many rows whose depth has more steps than shared memory has, the last one not full.
void test_tiles_of_many_steps();
/// Computes a product: of the plan's operands, to a tensor.
using RunProduct = tenon::Status(const kernels::MatmulPlan&, const tenon::aoti::ModelTensor&);
/// Products of all formats, with rows that are aligned to 16 bytes, with and without gaps.
void test_aligned_products(RunProduct* run_product);
/// Computes a product by cuBLASLt, and waits for it.
tenon::Status run_by_library(const kernels::CublasLtHandle& handle, const kernels::MatmulPlan& plan,
                             const tenon::aoti::ModelTensor& out);
/// Tests products by cuBLASLt, where there is one.
void test_library_products();
void test_sorting();
void test_copies();
void test_random_numbers();

/// Prints a line for each product and copy, a JSON object with its microseconds by the device's
/// events, the bytes that it reads and writes at least, and those by second. `chosen` is the way
/// that CudaBackend takes. False when something failed, which is reported.
bool print_times();

}  // namespace gpu_test
