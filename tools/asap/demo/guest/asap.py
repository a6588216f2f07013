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
        self.switches = {}

    def create(self, name, pids):
        write(f"{BASE}/apps/create", name)
        for pid in pids:
            write(f"{BASE}/apps/{name}/procs", str(pid))
        self.switch_fd[name] = os.open(f"{BASE}/apps/{name}/switch", os.O_WRONLY)
        self.switches[name] = self.stat(name)["switches"]

    def stat(self, name):
        return key_values(read(f"{BASE}/apps/{name}/stat"))

    def start(self, name):
        os.pwrite(self.switch_fd[name], b"start", 0)

    def end(self, name):
        """End the window (a long one has timed out already), wait for its harvest, and
        return the app's figures."""
        try:
            os.pwrite(self.switch_fd[name], b"end", 0)
        except OSError:
            pass
        deadline = time.monotonic() + HARVEST_S
        while (stat := self.stat(name))["switches"] == self.switches[name]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name}: no harvest {HARVEST_S} s after the window's end")
            time.sleep(0.01)
        self.switches[name] = stat["switches"]
        return stat
