# SPDX-License-Identifier: MIT
"""A plugin, and with the host an application, built with the package that `conan create` made."""

import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout

ROOT = os.path.join(os.path.dirname(__file__), "..", "..", "..", "..")


class Test(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        toolchain.cache_variables["TENON_SOURCES"] = os.path.abspath(os.path.join(self.recipe_folder, ROOT))
        toolchain.cache_variables["WITH_HOST"] = bool(self.dependencies["tenon"].options.host)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        embed = os.path.join(self.cpp.build.bindir, "embed")
        if can_run(self) and self.dependencies["tenon"].options.host:
            model = os.path.join(self.recipe_folder, ROOT, "tests/fixtures/demo_sin_inline/model.pte")
            self.run(f"{embed} {os.path.join(self.build_folder, 'demo_backend.so')} {model}", env="conanrun")
