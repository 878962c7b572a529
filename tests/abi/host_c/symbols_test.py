# SPDX-License-Identifier: MIT
"""Compares what libtenon.so exports with what its header declares and its version script lists, and the
list with the one that was released.

    symbols_test.py HEADER MAP LIBRARY
"""

import pathlib
import re
import subprocess
import sys
import unittest

header, version_script, library = map(pathlib.Path, sys.argv[1:4])

# Released functions, by the minor that they came with. Lines are added to it and never removed.
RELEASED = {
    "TENON_1.0": """
        tenon_c_version tenon_release tenon_status_name tenon_error_status tenon_error_text
        tenon_error_destroy tenon_registry_create tenon_registry_destroy tenon_registry_discover
        tenon_registry_register_plugin tenon_registry_register_static_plugin
        tenon_registry_unregister tenon_registry_check_backend tenon_registry_list
        tenon_backend_list_size tenon_backend_list_get tenon_backend_list_destroy tenon_program_open
        tenon_program_copy tenon_program_borrow tenon_program_destroy tenon_program_num_methods
        tenon_program_method_name tenon_program_get_method_meta tenon_method_meta_num_inputs
        tenon_method_meta_num_outputs tenon_method_meta_get_input tenon_method_meta_get_output
        tenon_method_meta_num_backends tenon_method_meta_backend tenon_method_meta_destroy
        tenon_executor_create tenon_executor_create_custom tenon_executor_destroy tenon_task_run
        tenon_task_drop tenon_method_load tenon_method_destroy tenon_method_num_inputs
        tenon_method_num_outputs tenon_method_writes_input tenon_method_variant tenon_method_set_input
        tenon_method_set_input_managed tenon_method_set_input_value tenon_method_set_output
        tenon_method_execute tenon_method_execute_async tenon_method_cancel tenon_method_get_input
        tenon_method_get_output tenon_method_export_output tenon_method_read_output
        tenon_method_get_memory tenon_method_get_delegate_memory tenon_method_set_stream
        tenon_method_set_scheduling tenon_method_create_session tenon_method_use_session
        tenon_session_destroy
    """.split(),
}


def declared():
    return re.findall(r"^TENON_HOST_API[^;(]*?\b(tenon_\w+)\(", header.read_text(), re.M)


def listed():
    """Version of symbols -> names, of the version script."""
    text = re.sub(r"/\*.*?\*/", "", version_script.read_text(), flags=re.S)
    nodes = re.findall(r"(TENON_[0-9.]+) \{\s*global:(.*?)(?:local:|\})", text, re.S)
    return {node: re.findall(r"(\w+);", names) for node, names in nodes}


def exported():
    """The same of the library."""
    output = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                            capture_output=True).stdout
    out = {}
    for line in output.splitlines():
        _, kind, name = line.split()
        if kind == "A":  # The name of a version.
            continue
        name, _, version = name.partition("@@")
        out.setdefault(f"{version} {kind}", []).append(name)
    return out


class Symbols(unittest.TestCase):
    def test_functions_are_those_that_were_released(self):
        self.assertEqual({node: sorted(names) for node, names in listed().items()},
                         {node: sorted(names) for node, names in RELEASED.items()})

    def test_the_header_declares_what_the_version_script_lists(self):
        self.assertEqual(sorted(declared()), sorted(sum(listed().values(), [])))

    def test_the_library_exports_these_functions_and_nothing_else(self):
        self.assertEqual({node: sorted(names) for node, names in exported().items()},
                         {f"{node} T": sorted(names) for node, names in listed().items()})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
