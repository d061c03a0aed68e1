# SPDX-License-Identifier: Apache-2.0
"""Time that a busy machine does not stretch: what a program has computed, not what a clock on the wall says."""
import os
import resource
import time


def of_children():
    """Seconds of CPU time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wait_until(process, seconds):
    """Returns when the running process has computed for so long, or has ended."""
    while process.poll() is None:
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
            ticks = file.read().rsplit(")", 1)[1].split()[11:13]  # utime and stime: the name may hold blanks
        if sum(map(int, ticks)) >= seconds * os.sysconf("SC_CLK_TCK"):
            return
        time.sleep(0.02)
