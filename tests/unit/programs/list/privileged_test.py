#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A process with more rights than the user who started it ignores every TENON_ variable.

usage: privileged_test.py TENON_LIST PROBE PLUGIN BACKEND

Copies of the programs are given rights in the two ways there are: setuid to another user, and a file capability.
Without these rights the copies obey the variables. Exit status 77: this machine cannot make such a program.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import pwd
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

AT_SECURE = 23
OTHER = "TenonTestNoSuchBackend"
tenon_list, probe, plugin, backend = (pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]),
                                      pathlib.Path(sys.argv[3]), sys.argv[4])


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def plain(path):
    """Every user may run it; it grants no rights."""
    os.chown(path, 0, 0)
    path.chmod(0o755)


def setuid(path):
    nobody = pwd.getpwnam("nobody").pw_uid
    os.chown(path, nobody, -1)
    path.chmod(0o4755)


def capability(path):
    # cap_net_raw, permitted and effective (struct vfs_cap_data of revision 2, linux/capability.h).
    plain(path)
    revision_2_effective = 0x02000000 | 1
    data = struct.pack("<5I", revision_2_effective, 1 << 13, 0, 0, 0)
    os.setxattr(path, "security.capability", data)


def as_nobody():
    nobody = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)


# How a program gets its rights, and who starts it: root has all capabilities already, and is the
# other user for a program that belongs to the user nobody.
WAYS = {"setuid": (setuid, None), "capability": (capability, as_nobody)}


def auxiliary_value(child, key):
    """The auxiliary vector of the program, from outside of it."""
    # The kernel writes the vector late in exec, entry by entry.
    while child.poll() is None:
        vector = pathlib.Path(f"/proc/{child.pid}/auxv").read_bytes()
        found = dict(struct.iter_unpack("<QQ", vector))
        if key in found:
            return found[key]
        time.sleep(0.01)
    raise AssertionError("the program ended before it could be looked at")


class Privileged(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name).resolve()
        self.folder.chmod(0o755)
        (self.folder / "plugins").mkdir()
        (self.folder / "plugins").chmod(0o755)
        self.plugin = self.folder / "plugins" / "found.so"
        shutil.copy(plugin, self.plugin)
        self.plugin.chmod(0o644)
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("TENON_")
        } | {"TENON_PLUGIN_PATH": str(self.plugin.parent)}

    def copy(self, program, give_rights):
        copied = self.folder / f"{program.name}-{give_rights.__name__}"
        shutil.copy(program, copied)
        give_rights(copied)
        return copied

    def run_copy(self, copied, *arguments, user=None, **variables):
        done = subprocess.run([copied, *arguments], env=self.environment | variables,
                              preexec_fn=user, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def secure_flag(self, copied, user):
        """Starts the program with its output blocked, so that it is still there to be looked at."""
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
        with contextlib.suppress(BlockingIOError):
            while os.write(writer, b"x" * 4096):
                pass
        with contextlib.suppress(BlockingIOError):
            while os.write(writer, b"x"):
                pass
        fcntl.fcntl(writer, fcntl.F_SETFL, 0)
        child = subprocess.Popen([copied, "--json"], env=self.environment, stdout=writer,
                                 preexec_fn=user)
        os.close(writer)
        try:
            self.assertEqual(os.readlink(f"/proc/{child.pid}/exe"), str(copied))
            return auxiliary_value(child, AT_SECURE)
        finally:
            while os.read(reader, 65536):
                pass
            os.close(reader)
            child.wait()

    def listed(self, copied, user, **variables):
        return json.loads(self.run_copy(copied, "--json", user=user, **variables))

    def ids(self, listing):
        return [each["id"] for each in listing["backends"] if each["hidden_as"] is None]

    def test_the_kernel_marks_the_program(self):
        for name, (give_rights, user) in WAYS.items():
            with self.subTest(name):
                self.assertEqual(self.secure_flag(self.copy(tenon_list, give_rights), user), 1)
                self.assertEqual(self.secure_flag(self.copy(tenon_list, plain), user), 0)

    def test_variables_with_places_are_ignored(self):
        for name, (give_rights, user) in WAYS.items():
            with self.subTest(name):
                files = {"TENON_PLUGIN_FILES": str(self.plugin)}
                privileged = self.listed(self.copy(tenon_list, give_rights), user, **files)
                self.assertTrue(privileged["privileged"])
                self.assertEqual(privileged["backends"], [])
                self.assertEqual(privileged["refused"], [])
                places = {place["kind"]: place for place in privileged["places"]}
                for kind in ("TENON_PLUGIN_FILES", "TENON_PLUGIN_PATH"):
                    self.assertEqual(places[kind]["error"]["name"], "AccessFailed")
                    self.assertIn("ignored", places[kind]["error"]["text"])
                    self.assertIsNone(places[kind]["path"])

                control = self.listed(self.copy(tenon_list, plain), user, **files)
                self.assertFalse(control["privileged"])
                self.assertEqual(self.ids(control), [backend])

    def test_the_table_says_why(self):
        for name, (give_rights, user) in WAYS.items():
            with self.subTest(name):
                text = self.run_copy(self.copy(tenon_list, give_rights), user=user)
                self.assertIn("No backend was found.", text)
                self.assertIn("TENON_PLUGIN_PATH: ignored: ", text)
                self.assertNotIn(str(self.plugin), text)
                control = self.run_copy(self.copy(tenon_list, plain), user=user)
                self.assertIn(str(self.plugin), control)

    def probe(self, give_rights, user, **variables):
        return self.run_copy(self.copy(probe, give_rights), str(self.plugin), backend, user=user,
                             **variables).splitlines()

    def test_filters_are_ignored(self):
        # The application gives the place here, so that the filters have something to work on.
        for variable, value in {"TENON_SELECT": OTHER, "TENON_DISABLE": "*"}.items():
            for name, (give_rights, user) in WAYS.items():
                with self.subTest(f"{variable} {name}"):
                    setting = {variable: value}
                    self.assertIn(f"own {backend}", self.probe(give_rights, user, **setting))
                    self.assertNotIn(f"own {backend}", self.probe(plain, user, **setting))
                    self.assertIn(f"own {backend}", self.probe(plain, user))

    def test_libraries_are_unloaded(self):
        for name, (give_rights, user) in WAYS.items():
            with self.subTest(name):
                privileged = self.probe(give_rights, user, TENON_NO_UNLOAD="1")
                self.assertIn("AT_SECURE 1", privileged)
                self.assertIn("while used: mapped", privileged)
                self.assertIn("after use: not mapped", privileged)
                control = self.probe(plain, user, TENON_NO_UNLOAD="1")
                self.assertIn("AT_SECURE 0", control)
                self.assertIn("after use: mapped", control)
                self.assertIn("after use: not mapped", self.probe(plain, user))


def check_machine():
    if sys.platform != "linux":
        skip("only Linux has AT_SECURE")
    if os.geteuid() != 0:
        skip("only root can make a program setuid to another user")
    try:
        pwd.getpwnam("nobody")
    except KeyError:
        skip("there is no user nobody")
    with tempfile.TemporaryDirectory() as folder:
        if os.statvfs(folder).f_flag & (os.ST_NOSUID | os.ST_NOEXEC):
            skip(f"{folder} is mounted nosuid or noexec")
        sample = pathlib.Path(folder) / "sample"
        shutil.copy(tenon_list, sample)
        try:
            capability(sample)
        except OSError as failure:
            # Some file systems hold no capabilities; setuid is left.
            print(f"without file capabilities: {failure}")
            del WAYS["capability"]


if __name__ == "__main__":
    check_machine()
    unittest.main(argv=sys.argv[:1], verbosity=2)
