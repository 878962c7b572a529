# SPDX-License-Identifier: MIT
"""Facts about the machine. As a program it prints facts about the CUDA driver and its first device.

The driver is asked in a process of its own: loading it may end or hang one.
"""

import ctypes
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

DRIVER_SECONDS = 60
CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76


def ask_driver() -> dict[str, Any]:
    """Name, capability, memory and driver of device 0, or {"reason": why there is none}."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as failure:
        return {"reason": f"no CUDA driver: {failure}"}
    if result := driver.cuInit(0):
        return {"reason": f"no CUDA device: cuInit failed with {result}"}
    count, version, device = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if driver.cuDeviceGetCount(ctypes.byref(count)) or count.value == 0:
        return {"reason": "the CUDA driver has no device"}
    driver.cuDriverGetVersion(ctypes.byref(version))
    driver.cuDeviceGet(ctypes.byref(device), 0)
    name, total = ctypes.create_string_buffer(256), ctypes.c_size_t()
    driver.cuDeviceGetName(name, len(name), device)
    driver.cuDeviceTotalMem_v2(ctypes.byref(total), device)
    capability = []
    for attribute in (CAPABILITY_MAJOR, CAPABILITY_MINOR):
        value = ctypes.c_int()
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        capability.append(str(value.value))
    return {
        "name": name.value.decode(errors="replace"),
        "count": count.value,
        "capability": ".".join(capability),
        "memory": total.value,
        "cuda": f"{version.value // 1000}.{version.value % 1000 // 10}",
        # The tests' stand-in (tests/stand_ins/cuda) runs no kernels.
        "computes": not hasattr(driver, "tenon_stand_in_cuda"),
    }


def device_facts() -> dict[str, Any]:
    """What `ask_driver` finds in another process."""
    try:
        done = subprocess.run([sys.executable, __file__], capture_output=True, text=True,
                              timeout=DRIVER_SECONDS, check=False)
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"reason": f"the CUDA driver did not answer within {DRIVER_SECONDS} s"}
    except json.JSONDecodeError:
        return {"reason": f"the CUDA driver ended the process with {done.returncode}"}


def machine_facts() -> dict[str, Any]:
    """System, C library, Python, and what nvidia-smi says where it is installed."""
    facts: dict[str, Any] = {
        "system": platform.platform(),
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
        "processors": os.cpu_count(),
    }
    if shutil.which("nvidia-smi"):
        query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_cap",
                 "--format=csv,noheader"]
        try:
            done = subprocess.run(query, capture_output=True, text=True, check=False, timeout=60)
            facts["nvidia-smi"] = done.stdout.splitlines()
        except subprocess.TimeoutExpired:
            facts["nvidia-smi"] = ["no answer within 60 s"]
    return facts


if __name__ == "__main__":
    print(json.dumps(ask_driver()))
