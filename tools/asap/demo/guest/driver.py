#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: starts the apps, switches between them in every mode, and
writes one JSON line an event to the channel that the host reads.

A switch: the app sits frozen in its cgroup, pushed out. The clock starts, `start`
is written (mode asap only), the app thaws and answers one request; the clock
stops when the answer is complete, and `end` is written.
"""
import collections
import gc
import hashlib
import importlib
import json
import os
import random
import sys
import time
import traceback

import memory
from asap import Asap
from memory import Cgroup, write
from questions import Person

# Time that an app has to itself after an answer, before it goes to the background.
SETTLE_S = 0.2

# An app is idle when it takes less than this share of a CPU; how long to wait for that.
IDLE_SHARE = 0.05
IDLE_WAIT_S = 300

# How many earlier switches a request's pages are compared with.
REMEMBERED = 10

PUSHED_OUT = ("off", "asap", "warm", "mapped")


class Channel:
    def __init__(self, fd):
        self.out = os.fdopen(fd, "w", buffering=1)

    def send(self, kind, **fields):
        self.out.write(json.dumps({"type": kind, **fields}) + "\n")

    def say(self, text):
        self.send("progress", text=text)


class Switcher:
    """One app and all that is needed to switch to it."""

    def __init__(self, name, config, asap):
        self.name = name
        self.asap = asap
        self.push = config["push"]
        self.with_files = config["storage"]["profile"] != "none"
        self.person = Person("/srv/demo/vocab.json", f"{config['seed']} {name}")
        self.cgroup = Cgroup(f"app-{name}")
        self.app = importlib.import_module(f"apps.{name}").App(
            name, f"/run/{name}", self.cgroup.path, config["storage"]["root"])
        self.footprints = collections.deque(maxlen=REMEMBERED)

    def start(self):
        self.app.start()
        if self.asap:
            self.asap.create(self.name, self.cgroup.pids())
        # Some use before the first time in the background, and until then time for what
        # a program does on its own after its start, such as compiling.
        self.app.request(self.person.request("first"))
        self.wait_until_idle()
        self.to_background()

    def wait_until_idle(self):
        for _ in range(int(IDLE_WAIT_S / SETTLE_S)):
            before = self.cgroup.cpu_us()
            time.sleep(SETTLE_S)
            if self.cgroup.cpu_us() - before < IDLE_SHARE * SETTLE_S * 1e6:
                return

    def to_background(self):
        time.sleep(SETTLE_S)
        self.cgroup.freeze()

    def prepare(self, mode, seed):
        """Bring the frozen app to the state in which the mode's clock starts."""
        if mode in PUSHED_OUT:
            self.cgroup.push_out_anon(self.push)
            if self.with_files:
                self.cgroup.learn_files()
                memory.push_out_files()
            if mode in ("warm", "mapped"):
                self.cgroup.bring_back_files()
            if mode == "warm":
                self.cgroup.bring_back()
            elif mode == "mapped":
                self.cgroup.map_back()
        else:
            # ideal: it is in memory and has been in use.
            self.cgroup.bring_back_files()
            self.cgroup.map_back()
            self.cgroup.thaw()
            self.app.request(self.person.request(f"{seed} before"))
            self.to_background()

    def switch(self, mode, seed):
        questions = self.person.request(seed)
        self.prepare(mode, seed)
        state = self.cgroup.state()
        swapped = self.cgroup.swapped_pages() if mode == "off" else None
        before = self.cgroup.stat()
        waits = self.cgroup.waits()
        swapins = memory.key_values(memory.read("/proc/vmstat")).get("pswpin", 0)

        clock = time.monotonic_ns()
        if mode == "asap":
            self.asap.start(self.name)
        self.cgroup.thaw()
        answer = self.app.request(questions)
        clock = time.monotonic_ns() - clock
        waited = self.cgroup.waits()

        extra = {}
        if mode == "asap":
            extra["asap"] = self.asap.end(self.name)
        after = self.cgroup.stat()
        extra.update({key: value - waits[key] for key, value in waited.items()})
        swapins = memory.key_values(memory.read("/proc/vmstat")).get("pswpin", 0) - swapins
        self.to_background()
        if swapped is not None:
            extra.update(self.footprint(swapped - self.cgroup.swapped_pages()))
        return {"app": self.name, "mode": mode, "seed": seed, "switch_ms": clock / 1e6,
                "majflt": after["pgmajfault"] - before["pgmajfault"],
                "fault": after["pgfault"] - before["pgfault"],
                "swapin": swapins,
                "answer": hashlib.sha256(answer).hexdigest()[:16], "answer_bytes": len(answer),
                "start": state, **extra}

    def footprint(self, pages):
        """Of the pages that a request needed: how many, and the share of them that the
        request before needed as well, and that any of the last REMEMBERED did."""
        found = {"touched": len(pages)}
        if self.footprints and pages:
            found["repeated_last"] = len(pages & self.footprints[-1]) / len(pages)
        if len(self.footprints) == REMEMBERED and pages:
            found["repeated"] = len(pages & set().union(*self.footprints)) / len(pages)
        self.footprints.append(pages)
        return found


def run(config, channel):
    memory.lock_driver()
    asap = Asap(config.get("knobs", {})) if Asap.present() else None
    modes = [mode for mode in config["modes"] if mode != "asap" or asap]
    apps, seed = config["apps"], config["seed"]
    channel.send("begin", kernel=os.uname().release, arch=os.uname().machine,
                 smp=os.cpu_count(), modes=modes, asap=bool(asap), config=config,
                 mem_kb=memory.key_values(memory.read("/proc/meminfo"))["MemTotal"])

    switchers = []
    for i, name in enumerate(apps):
        channel.say(f"start {name} ({i + 1} of {len(apps)})")
        began = time.monotonic()
        switcher = Switcher(name, config, asap)
        switcher.start()
        channel.send("started", app=name, seconds=time.monotonic() - began,
                     **switcher.cgroup.state())
        switchers.append(switcher)

    rng = random.Random(f"order {seed}")
    gc.disable()
    total = len(apps) * (config["learn"] + config["rounds"] * len(modes))
    done = 0
    answers = {}

    def one(switcher, mode, seed, phase):
        nonlocal done
        row = switcher.switch(mode, seed)
        done += 1
        # The same question has the same answer, however the pages came in.
        key = (switcher.name, seed)
        row["answer_ok"] = answers.setdefault(key, row["answer"]) == row["answer"]
        channel.send("switch", phase=phase, done=done, total=total, **row)

    for i in range(config["learn"]):
        for switcher in rng.sample(switchers, len(switchers)):
            one(switcher, "asap" if asap else "off", f"{seed} learn {i}", "learn")
        gc.collect()
    for i in range(config["rounds"]):
        for switcher in rng.sample(switchers, len(switchers)):
            for mode in rng.sample(modes, len(modes)):
                one(switcher, mode, f"{seed} round {i}", "measure")
        gc.collect()
    channel.send("end")


def main():
    channel = Channel(int(sys.argv[1]))
    try:
        with open(sys.argv[2]) as file:
            config = json.load(file)
        swapin_us, profile, read_us, ratio, root = sys.argv[3:8]
        config["storage"] = {"profile": profile, "read_us": int(read_us), "ratio": int(ratio),
                             "swapin_us": float(swapin_us), "root": root}
        run(config, channel)
    except BaseException:
        channel.send("error", text=traceback.format_exc())
        raise


main()
