# SPDX-License-Identifier: MIT
"""Runs the tests of the Go wrapper, examples/applications/go_host, with go.

    go_test.py PACKAGE CACHE PKG_CONFIG_FOLDER LIBRARY_FOLDER PLUGIN MODEL

Exits with 77 where there is no go.
"""

import os
import pathlib
import shutil
import subprocess
import sys

# Go runs tests in the folder of the package.
package, cache, pkgconfig, libraries, plugin, model = (pathlib.Path(path).resolve()
                                                       for path in sys.argv[1:])
go = shutil.which("go")
if not go or not shutil.which("pkg-config"):
    print("skipped: go or pkg-config is not installed")
    sys.exit(77)
environment = dict(os.environ, GOCACHE=str(cache), GOPROXY="off", GOTOOLCHAIN="local",
                   GOFLAGS="-mod=mod", CGO_ENABLED="1", PKG_CONFIG_PATH=str(pkgconfig),
                   LD_LIBRARY_PATH=str(libraries), TENON_TEST_PLUGIN=str(plugin),
                   TENON_TEST_MODEL=str(model))
subprocess.run([go, "test", "-count=1", "./..."], check=True, cwd=package, env=environment)
