# SPDX-License-Identifier: GPL-2.0
"""The kernel's user interface, /sys/kernel/mm/asap."""
import os
import time

from memory import key_values, read, write

BASE = "/sys/kernel/mm/asap"
# The harvest runs after `end` returns; this long is a broken kernel.
HARVEST_S = 60


class Asap:
    @staticmethod
    def present():
        return os.path.isdir(f"{BASE}/apps")

    def __init__(self, knobs):
        for knob, value in {"enabled": 1, **knobs}.items():
            write(f"{BASE}/{knob}", str(value))
        self.switch_fd = {}

    def create(self, name, pids):
        write(f"{BASE}/apps/create", name)
        for pid in pids:
            write(f"{BASE}/apps/{name}/procs", str(pid))
        self.switch_fd[name] = os.open(f"{BASE}/apps/{name}/switch", os.O_RDWR)

    def start(self, name):
        os.pwrite(self.switch_fd[name], b"start", 0)

    def end(self, name):
        """End the window, wait for the harvest, and return the app's figures."""
        os.pwrite(self.switch_fd[name], b"end", 0)
        deadline = time.monotonic() + HARVEST_S
        while os.pread(self.switch_fd[name], 64, 0).strip() != b"idle":
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name}: the window is still open {HARVEST_S} s after its end")
            time.sleep(0.005)
        return key_values(read(f"{BASE}/apps/{name}/stat"))
