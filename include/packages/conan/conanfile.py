# SPDX-License-Identifier: MIT
"""Conan 2: `conan create include/packages/conan` in a copy of the sources. Consumers use find_package(Tenon) with the
generator CMakeDeps, or pkg-config (docs/getting-started/packages.md#conan-vcpkg-and-conda)."""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.gnu import PkgConfigDeps
from conan.tools.layout import basic_layout
from conan.tools.meson import Meson, MesonToolchain

ROOT = os.path.join(os.path.dirname(__file__), "..", "..", "..")


class Tenon(ConanFile):
    name = "tenon"
    description = "SDK for ML backends that are loadable plugins, and a host that runs ExecuTorch programs with them"
    license = "MIT"
    topics = ("machine-learning", "executorch", "plugin")
    settings = "os", "arch", "compiler", "build_type"
    # Without the host: headers for plugins alone, which need nothing.
    options = {"host": [True, False]}
    default_options = {"host": True}

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, ROOT, "include/tenon/abi/version.h"))
        self.version = re.search(r'TENON_VERSION_STRING "([0-9.]+)"', header)[1]

    def export_sources(self):
        for pattern in ("meson.build", "meson_options.txt", "LICENSE", "NOTICE", "CHANGELOG.md", "include/*", "docs/*",
                        "templates/*", "reference_backends/*", "examples/programs/isolation/*",
                        "tests/conformance/kit/*", ".ci/*"):
            copy(self, pattern, os.path.join(self.recipe_folder, ROOT), self.export_sources_folder,
                 excludes=("*/test_package/*", "docs/measurements/*"))

    def layout(self):
        basic_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def package_id(self):
        if not self.info.options.host:
            self.info.clear()

    def requirements(self):
        if self.options.host:
            self.requires("flatbuffers/[>=2.0.8]", transitive_headers=True)
            self.requires("fmt/[>=9]")
            self.requires("nlohmann_json/[>=3]", transitive_headers=True)

    def build_requirements(self):
        self.tool_requires("meson/[>=1.0]")
        if self.options.host:
            # The compiler of schemas that fits the headers.
            self.tool_requires("flatbuffers/<host_version>")

    def generate(self):
        toolchain = MesonToolchain(self)
        toolchain.project_options.update({
            "auto_features": "disabled", "host": "enabled" if self.options.host else "disabled", "wrap_mode": "nofallback",
        })
        toolchain.generate()
        PkgConfigDeps(self).generate()

    def build(self):
        meson = Meson(self)
        meson.configure()
        meson.build()

    def package(self):
        Meson(self).install()
        for name in ("LICENSE", "NOTICE"):
            copy(self, name, self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # Tenon's own package files know what each target needs.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "Tenon")]
        self.cpp_info.libs = ["tenon-compiler", "tenon-host"] if self.options.host else []
        if self.options.host and self.settings.os == "Linux":
            self.cpp_info.system_libs = ["dl", "pthread"]
        if not self.options.host:
            self.cpp_info.libdirs = self.cpp_info.bindirs = []
