// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string_view>
#include "tenon/core/hex.hpp"

#include "doctor.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tool.hpp"

namespace tenon::doctor {
namespace {

/// The value of a compile spec: as text when it is text, else the first bytes.
std::string value_text(const std::vector<std::byte>& value) {
  if (value.empty()) return "(empty)";
  constexpr std::size_t most = 48;
  const std::string_view text(reinterpret_cast<const char*>(value.data()), value.size());
  const bool is_text = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
  const std::string shown =
      is_text ? concat("\"", text.substr(0, most), "\"")
              : to_spaced_hex({value.data(), std::min<std::size_t>(value.size(), most / 3)}, most);
  const std::size_t fits = is_text ? most : most / 3;
  return concat(shown, value.size() > fits ? "..." : "", " (", value.size(),
                value.size() == 1 ? " byte)" : " bytes)");
}

/// "BackendWithCompilerDemo 1.0 from /opt/acme/libacme.so (TENON_PLUGIN_PATH)"
std::string origin_text(const host::BackendInfo& info) {
  const host::PluginSource& source = *info.source;
  std::string out = source.record ? source.record->name : std::string("a backend");
  if (source.record && !source.record->version.empty()) {
    out += concat(" ", source.record->version);
  }
  return concat(out, " from ", source.origin(), " (",
                host::search_path_name(source.search_path_kind), ")");
}

class Text {
 public:
  explicit Text(bool color) : color_(color) {}

  [[nodiscard]] std::string write(const Diagnosis& diagnosis) && {
    for (const Method& method : diagnosis.methods) write_method(method);
    if (!host::unloads_libraries()) {
      line("", "unloads: no (libraries stay in memory until the process ends: TENON_NO_UNLOAD is ",
           "set, or the C library is musl)");
    }
    const bool good = diagnosis.code == ExitCode::success;
    out_ += concat(styled(printable(summary(diagnosis)), good ? Style::good : Style::bad, color_),
                   "\n");
    return std::move(out_);
  }

 private:
  template <class... Pieces>
  void line(std::string_view indent, const Pieces&... pieces) {
    out_ += concat(indent, printable(concat(pieces...)), "\n");
  }
  /// A problem may have several lines.
  void problem(std::string_view indent, std::string_view text) {
    std::string_view head = "no: ";
    for (const std::string_view line : split(text, '\n')) {
      out_ += concat(indent, head, styled(printable(line), Style::bad, color_), "\n");
      head = "  ";
    }
  }

  void write_method(const Method& method) {
    out_ += concat(styled(printable(concat("method ", method.name)), Style::title, color_), "\n");
    for (const Variant& variant : method.variants) write_variant(variant);
    for (const Delegate& delegate : method.delegates) write_delegate(delegate);
    if (method.delegates.empty()) line("  ", "no delegates");
    bool nobody_asked = false;
    for (const Operator& op : method.operators) {
      nobody_asked |= op.served_by.empty() && op.asked.empty();
      const std::string what = concat("operator ", op.name, " (instruction ", op.instructions, ")");
      if (op.served_by.empty()) {
        problem("  ", concat("no kernel for ", what, op.asked));
      } else {
        line("  ", what, ": kernel of ", op.served_by);
      }
    }
    if (nobody_asked) line("    ", "no plugin that is known offers kernels");
    for (const std::string& name : method.missing_tensors) {
      problem("  ", concat("external tensor '", name, "' is in no --data file"));
    }
    for (const DeviceBuffer& buffer : method.device_buffers) {
      if (buffer.problem.empty()) {
        line("  ", buffer.planned.text(), ": served by ", buffer.served_by);
      } else {
        problem("  ", buffer.problem);
      }
    }
    write_memory(method);
    write_proofs(method);
  }

  /// A row for each variant.
  void write_proofs(const Method& method) {
    std::size_t width = 0;
    for (const ProofHere& one : method.proofs) width = std::max(width, one.variant.size());
    for (const ProofHere& one : method.proofs) {
      const std::string name =
          concat("proof ", one.variant, std::string(width - one.variant.size(), ' '));
      const std::size_t cases = one.proof.num_cases;
      if (!one.failure.ok()) {
        problem("  ", concat(name, "  ", one.failure.text()));
      } else if (cases == 0) {
        line("  ", name, "  no golden cases");
      } else {
        line("  ", name, "  passed ", cases, cases == 1 ? " case" : " cases");
      }
    }
  }

  void write_variant(const Variant& variant) {
    line("  ", "variant ", variant.name, ", priority ", variant.priority,
         variant.is_chosen ? ": would be loaded" : "");
    for (const std::string& need : variant.needs) line("    ", "needs ", need);
    if (!variant.refused.ok()) return problem("    ", variant.refused.text());
    line("    ", host::blob_verdict_name(variant.verdict), variant.reason.empty() ? "" : ": ",
         variant.reason);
  }

  /// A row for each part that needs memory, for each device.
  void write_memory(const Method& method) {
    for (const MemoryOnDevice& on : method.memory) {
      const tenon_dl_device device = on.needed.device;
      const std::string free =
          on.free ? concat(*on.free, " free: ", on.fits() ? "fits" : "does not fit")
                  : std::string("free memory unknown");
      line("  ", "memory on ", host::device_name(device), ": ", on.needed.nbytes, " bytes, ", free);
      for (const host::DeviceBytes& planned : method.estimate.planned) {
        if (host::is_same_device(planned.device, device)) row("planned", planned.nbytes);
      }
      if (host::is_cpu(device)) row("tables", method.estimate.tables);
      for (const Delegate& delegate : method.delegates) write_needs(delegate, device);
    }
  }
  void row(std::string_view what, std::uint64_t nbytes) {
    constexpr std::size_t width = 14;
    const std::string number = concat(nbytes);
    const std::string blanks(number.size() < width ? width - number.size() : 0, ' ');
    line("    ", std::string_view(blanks), std::string_view(number), "  ", what);
  }
  void write_needs(const Delegate& delegate, tenon_dl_device device) {
    const std::string name = concat("delegate ", delegate.index, " ");
    for (const host::DelegateBytes& need : delegate.estimate.needs) {
      if (!host::is_same_device(need.device, device)) continue;
      if (need.weights != 0) row(name + "weights", need.weights);
      if (need.workspace != 0) row(name + "workspace", need.workspace);
      if (need.session != 0) row(name + "for each further session", need.session);
    }
    if (!host::is_cpu(device) || !delegate.found.ok()) return;
    if (!delegate.estimated.ok()) {
      line("    ", "             ?  ", name, delegate.estimated.text());
    } else if (!delegate.estimate.is_stated) {
      line("    ", "             ?  ", name, "not stated by its backend");
    } else if (!delegate.estimate.is_complete) {
      line("    ", "             ?  ", name, "more in runs, which only a run shows");
    }
  }

  void write_delegate(const Delegate& delegate) {
    line("  ", "delegate ", delegate.index, ": ", delegate.backend_id, ", blob of ",
         delegate.blob_size, " bytes");
    for (const CompileSpec& spec : delegate.compile_specs) {
      line("    ", "spec ", spec.key, " = ", value_text(spec.value));
    }
    if (delegate.served_by) line("    ", "served by ", origin_text(*delegate.served_by));
    if (delegate.served_by && delegate.served_by->backend()->runs_embedded_code) {
      line("    ", "runs native code that the program carries (see tenon-run --embedded-code)");
    }
    if (delegate.found.ok()) {
      line("    ", "available: ", delegate.available.ok() ? "yes" : "no");
      line("    ", "blob: ",
           delegate.check
               ? concat(host::blob_verdict_name(delegate.check->verdict),
                        delegate.check->reason.empty() ? "" : ": ", delegate.check->reason)
               : std::string("not reported (the backend has no check_blob)"));
    }
    for (const std::string& text : delegate.problems()) problem("    ", text);
  }

  bool color_;
  std::string out_;
};

}  // namespace

std::string to_text(const Diagnosis& diagnosis, bool color) {
  return diagnosis.failure.ok() ? Text(color).write(diagnosis) : std::string();
}

std::string summary(const Diagnosis& diagnosis) {
  std::size_t delegates = 0, good_delegates = 0, good_methods = 0;
  for (const Method& method : diagnosis.methods) {
    good_methods += method.can_run() ? 1 : 0;
    delegates += method.delegates.size();
    for (const Delegate& delegate : method.delegates) {
      good_delegates += delegate.problems().empty() ? 1 : 0;
    }
  }
  return concat(diagnosis.program, ": ", good_methods, " of ", diagnosis.methods.size(),
                diagnosis.methods.size() == 1 ? " method" : " methods", " and ", good_delegates,
                " of ", delegates, delegates == 1 ? " delegate" : " delegates", " can run here");
}

}  // namespace tenon::doctor
