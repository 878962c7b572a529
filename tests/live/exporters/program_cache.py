# SPDX-License-Identifier: MIT
"""What operator_suite.py and architectures.py share: what a cached program depends on, and the package of the same
library for libtorch's own loader.
"""

import hashlib
import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from torch._inductor.package import package_aoti

from exporters.export_models import COMPILE_OPTIONS, LIVE, CpuAotiBackend

EXPORTER = [f"exporters/{name}.py" for name in ("export_models", "case_folder", "library_options", "program_cache")]


def fingerprint(*texts: str, sources: Iterable[str] = (), packages: Iterable[str] = ()) -> str:
    """What a cached program depends on: the versions of PyTorch, ExecuTorch and other `packages`, the options that
    AOTInductor has when this is called, the exporter's sources and others of tests/live, and `texts`."""
    versions = {name: version(name) for name in ("torch", "executorch", *packages)}
    digest = hashlib.sha256(json.dumps([versions, COMPILE_OPTIONS, texts], sort_keys=True).encode())
    for source in (*EXPORTER, *sources):
        digest.update((LIVE / source).read_bytes())
    return digest.hexdigest()[:16]


def keep_package(file: Path) -> None:
    """Has the exporter write the library that it compiles next, with its weights, as `file` too."""

    def package(cls: type, paths: list[Any], compile_specs: list[Any]) -> list[Any]:
        """Not to change weights: this is where the files of the program pass by while all of them exist."""
        # PyTorch: AOTIModelPackageLoader maps the file of weights, and no empty file can be mapped.
        package_aoti(str(file), {"model": [
            path for path in paths
            if not isinstance(path, str) or not path.endswith(".blob") or Path(path).stat().st_size]})
        return paths

    CpuAotiBackend.materialize_weights_blob = classmethod(package)
