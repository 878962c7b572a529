// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/prepared/prepared_store.hpp"
#include "tenon/host/layers/prove/golden.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/method/method.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The verdict of golden cases about one method on this machine.
struct Proof {
  std::size_t num_cases = 0;  ///< 0: the program has none for the method.
  bool was_kept = false;      ///< Read from the store: nothing was run.
  /// Empty when all outputs are right: "case 0: output 0: 312 of 1000 elements differ, ...".
  std::string difference;

  [[nodiscard]] bool passed() const noexcept { return num_cases != 0 && difference.empty(); }
};

/// Proves methods before they are loaded: the first load of a program by a plugin, on a device and
/// with a driver, runs the program's golden cases in a method of its own, with the options of the
/// load: in a worker where the load has one. Wrong outputs refuse the load; a program without cases
/// is loaded.
///
/// The verdict is kept in the `PreparedStore` that the load has, else in the directory
/// `default_prepared_directory()`. Later loads read it and run nothing. It belongs to
///
/// - the file of the program (place, size and time of its last change; the bytes of a program in
///   memory), and the variant;
/// - the files of the plugins, of the delegates and, where the program calls operators, of kernels;
/// - their devices: names, identities and descriptions, which should say the driver;
/// - the features of the CPU, and the options of backends.
///
/// So another one of these proves itself again. What a plugin computes wrongly that is linked in,
/// or that failed without an output, is not kept.
///
/// errors of a load: DelegateInvalidCompatibility for wrong outputs, with the difference;
///         InvalidProgram for cases that are no golden cases, or do not fit the method; what a run
///         of the cases fails with.
class Prove final : public MethodLayer {
 public:
  Prove() noexcept = default;
  /// Verdicts are kept in `store`, which must outlive the methods.
  explicit Prove(const PreparedStore& store) noexcept : store_(&store) {}
  /// Runs the cases also where a verdict is kept, and replaces it.
  [[nodiscard]] Prove again() const {
    Prove out = *this;
    out.ask_ = Ask::again;
    return out;
  }
  /// Proves nothing, whatever other layers of the class say.
  [[nodiscard]] static Prove nothing() {
    Prove out;
    out.ask_ = Ask::never;
    return out;
  }

  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const override;

 private:
  enum class Ask : std::uint8_t { once, again, never };

  const PreparedStore* store_ = nullptr;
  Ask ask_ = Ask::once;
};

/// The proof of a method that was loaded with `Prove`; null for another one.
[[nodiscard]] const Proof* proof_of(const Method& method) noexcept;

/// Runs the golden cases of the loaded method now, in its memory: inputs are then the inputs of the
/// last case. Not while it runs. A method with a state continues with another one. Of a method that
/// was loaded with `Prove`, wrong outputs become the verdict that is kept.
///
/// errors: InvalidProgram, and what a run fails with. Wrong outputs are no error.
[[nodiscard]] Result<Proof> prove(Method& method);

/// Adds `Prove` to the layers of an application when the variable TENON_PROVE is "1" and nothing
/// proves yet. Tenon's programs and Python call it.
///
/// threads: as `environment_variable`. errors: InvalidArgument for another value than "", "0", "1".
[[nodiscard]] Status add_prove_of_environment(Layers& layers);

}}}  // namespace tenon::TENON_RELEASE::host
