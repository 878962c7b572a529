# SPDX-License-Identifier: MIT
"""What the package costs a process: footprint.py BUILD SOURCE

Prints the time of `import tenon` (the least of 20 processes, and of a Python that imports nothing),
and the resident memory after running examples/digits, without NumPy.
"""

import subprocess
import sys
import time

BUILD, SOURCE = sys.argv[1:3]

IMPORT = "import time; t = time.perf_counter(); import tenon; print(time.perf_counter() - t)"
DIGITS = f"""
import resource, struct
import tenon

raw = open("{SOURCE}/examples/digits/input.npy", "rb").read()
x = memoryview(raw[-256:]).cast("f", (1, 1, 8, 8))
method = tenon.load("{SOURCE}/examples/digits/model.pte",
                    plugins=["{BUILD}/reference_backends/cpu_aoti/cpu_aoti.so"])["forward"]
[row] = method(x).tolist()
print(max(range(10), key=row.__getitem__))
[resident] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")]
print(resident, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def run(code):
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True,
                          env={"PYTHONPATH": f"{BUILD}/examples/python"})
    return time.perf_counter() - start, done.stdout.split()


imports, whole, empty = [], [], []
for _ in range(20):
    seconds, [found] = run(IMPORT)
    imports.append(float(found))
    whole.append(seconds)
    empty.append(run("pass")[0])
print(f"import tenon: {min(imports) * 1e3:.1f} ms; a process that imports it {min(whole) * 1e3:.1f} ms, "
      f"one that imports nothing {min(empty) * 1e3:.1f} ms")
_, [digit, resident, peak] = run(DIGITS)
print(f"digits: read {digit}; {int(resident) / 1024:.1f} MiB resident, {int(peak) / 1024:.1f} MiB at most")
