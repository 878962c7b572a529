// SPDX-License-Identifier: MIT
//
// Names of files, where the system takes "Acme.DLL" and "acme.dll" for one, and where not.
#include "tenon/host/impl/registry/file_names.hpp"
#include "support/catch.hpp"

using tenon::host::detail::compared_name;
using tenon::host::detail::has_extension;

TEST_CASE("an extension in capitals is one where file systems ignore case", "[discovery]") {
  for (const bool ignores_case : {true, false}) {
    CHECK(has_extension("acme.json", ".json", ignores_case));
    CHECK(has_extension("ACME.JSON", ".json", ignores_case) == ignores_case);
    CHECK(has_extension("acme.Dll", ".dll", ignores_case) == ignores_case);
    CHECK_FALSE(has_extension("acme.json5", ".json", ignores_case));
    CHECK_FALSE(has_extension("json", ".json", ignores_case));
    CHECK_FALSE(has_extension("", ".json", ignores_case));
  }
}

TEST_CASE("a manifest is that of a library of the same name, as the system compares names",
          "[discovery]") {
  CHECK(compared_name("Acme", true) == compared_name("aCME", true));
  CHECK(compared_name("Acme", false) != compared_name("acme", false));
  CHECK(compared_name("Acme", false) == "Acme");
  // Letters of other alphabets are left as they are: which of them are equal is up to the system.
  CHECK(compared_name("\xc3\x84", true) == "\xc3\x84");
}
