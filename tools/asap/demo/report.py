#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The host's side of the demo.

report.py config FILE KEY=VALUE...   write the guest's configuration
report.py watch RESULTS PID          show progress until process PID has ended
report.py report DIR                 DIR/results -> table, result.json, switches.csv
"""
import csv
import json
import math
import os
import statistics
import sys
import time

MODES = ("off", "asap", "warm", "ideal", "mapped")
KINDS = ("anon", "file")
BAR = 40
# From this share of time with a task waiting for a CPU on, say so. QEMU's own two
# CPUs and its other threads make some of it by themselves.
BUSY = 0.5


def config(path, *pairs):
    found = dict(pair.split("=", 1) for pair in pairs)
    for key in ("apps", "modes"):
        found[key] = found[key].split()
    for key in ("learn", "rounds", "seed", "mem_mb", "zram_mb"):
        found[key] = int(found[key])
    found["knobs"] = dict(word.split("=", 1) for word in found["knobs"].split())
    unknown = set(found["modes"]) - set(MODES)
    if unknown:
        sys.exit(f"demo: no such mode: {' '.join(sorted(unknown))}")
    with open(path, "w") as out:
        json.dump(found, out)


def events(path):
    """The guest's lines; its verdict and a line cut off at the end are not JSON."""
    with open(path, errors="replace") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                pass


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Progress:
    def __init__(self):
        self.began = time.monotonic()
        self.first_switch = None
        self.shown = ""
        self.tty = sys.stderr.isatty()
        self.last = 0

    def show(self, text, final=False):
        if self.tty:
            sys.stderr.write("\r" + text.ljust(len(self.shown)) + ("\n" if final else ""))
            self.shown = "" if final else text
        elif final or time.monotonic() - self.last > 30:
            sys.stderr.write(text + "\n")
            self.last = time.monotonic()
        sys.stderr.flush()

    def event(self, event):
        kind, now = event["type"], time.monotonic()
        minutes = int(now - self.began) // 60
        if kind == "begin":
            self.show(f"demo: Linux {event['kernel']} is up, modes {' '.join(event['modes'])}, "
                      f"seed {event['config']['seed']}", True)
            if "asap" in event["config"]["modes"] and not event["asap"]:
                self.show("demo: this kernel has no /sys/kernel/mm/asap: no mode asap", True)
        elif kind == "progress":
            self.show(f"demo: {event['text']} ({minutes} min)", True)
        elif kind == "switch":
            self.first_switch = self.first_switch or (now, event["done"])
            since, first = self.first_switch
            done, total = event["done"], event["total"]
            left = "?"
            if done - first >= 5:
                left = f"{(now - since) / (done - first) * (total - done) / 60:.0f} min"
            self.show(f"demo: {event['phase']} {done}/{total}: {event['app']} {event['mode']} "
                      f"{event['switch_ms']:.0f} ms; {left} left", done == total)
        elif kind == "error":
            self.show("demo: " + event["text"], True)


def cpu_wait():
    """Microseconds for which some task on this machine waited for a CPU; the clock."""
    try:
        with open("/proc/pressure/cpu") as pressure:
            return int(pressure.readline().rpartition("total=")[2]), time.monotonic()
    except (OSError, ValueError):
        return None


def watch(path, pid):
    """Progress; then how busy this machine was, which an emulator cannot hide."""
    before = cpu_wait()
    try:
        follow(path, pid)
    finally:
        after = cpu_wait()
        share = None
        if before and after:
            share = rounded((after[0] - before[0]) / 1e6 / (after[1] - before[1]), 2)
        with open(f"{os.path.dirname(path)}/host.json", "w") as out:
            json.dump({"cpu_wait": share}, out)


def follow(path, pid):
    progress = Progress()
    while not os.path.exists(path):
        if not alive(pid):
            return
        time.sleep(0.2)
    with open(path, errors="replace") as lines:
        part = ""
        while True:
            going = alive(pid)
            while line := lines.readline():
                part += line
                if part.endswith("\n"):
                    try:
                        progress.event(json.loads(part))
                    except ValueError:
                        pass    # the verdict
                    part = ""
            if not going:
                return
            time.sleep(0.5)


def quantile(values, q):
    values = sorted(values)
    at = q * (len(values) - 1)
    low = math.floor(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def geomean(values):
    values = [v for v in values if v]
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def ratio(part, whole):
    return part / whole if part is not None and whole else None


def rounded(value, digits=4):
    return None if value is None else round(value, digits)


class App:
    """One app's measured switches, by mode and seed."""

    def __init__(self, name, rows):
        self.name = name
        self.rows = {mode: {r["seed"]: r for r in rows if r["mode"] == mode} for mode in MODES}

    def paired(self, value, a, b):
        """Median over the seeds that both modes have of value(row a, row b)."""
        both = self.rows[a].keys() & self.rows[b].keys()
        values = [value(self.rows[a][seed], self.rows[b][seed]) for seed in both]
        return statistics.median(values) if values else None

    def over(self, a, b):
        return self.paired(lambda x, y: x["switch_ms"] / y["switch_ms"], a, b)

    def gap_closed(self, floor="warm"):
        saved = self.paired(lambda x, y: x["switch_ms"] - y["switch_ms"], "off", "asap")
        gap = self.paired(lambda x, y: x["switch_ms"] - y["switch_ms"], "off", floor)
        return ratio(saved, gap)

    def asap_sum(self, key):
        return sum(r["asap"].get(f"last_{key}", 0) for r in self.rows["asap"].values())

    def kind(self, kind):
        """The kernel's own figures of the measured switches."""
        fetched, used = self.asap_sum(f"{kind}_prefetched"), self.asap_sum(f"{kind}_used")
        faulted = self.asap_sum(f"{kind}_faulted")
        return {"prefetched": fetched, "used": used, "faulted": faulted,
                "accuracy": rounded(ratio(used, fetched)),
                "recall": rounded(ratio(used, used + faulted))}

    def mode(self, mode):
        rows = list(self.rows[mode].values())
        times = [r["switch_ms"] for r in rows]

        def median(key):
            return statistics.median(key(r) for r in rows)

        found = {
            "switch_ms": {"median": rounded(statistics.median(times), 2),
                          "p95": rounded(quantile(times, 0.95), 2), "n": len(times)},
            "majflt": median(lambda r: r["majflt"]),
            "swapin": median(lambda r: r["swapin"]),
            "start": {key: median(lambda r: r["start"][key]) for key in rows[0]["start"]},
        }
        if mode == "off":
            for key in ("touched", "repeated_last", "repeated"):
                values = [r[key] for r in rows if key in r]
                found[key] = rounded(statistics.median(values)) if values else None
        if mode == "asap":
            found.update((kind, self.kind(kind)) for kind in KINDS)
        return found

    def result(self):
        found = {"name": self.name,
                 "modes": {mode: self.mode(mode) for mode in MODES if self.rows[mode]}}
        for key, value in (("asap_over_off", self.over("asap", "off")),
                           ("asap_over_warm", self.over("asap", "warm")),
                           ("warm_over_off", self.over("warm", "off")),
                           ("ideal_over_off", self.over("ideal", "off")),
                           ("mapped_over_off", self.over("mapped", "off")),
                           ("gap_closed", self.gap_closed()),
                           ("gap_closed_mapped", self.gap_closed("mapped"))):
            if value is not None:
                found[key] = rounded(value)
        return found


def summary(apps):
    def over(key):
        return rounded(geomean([app.get(key) for app in apps]))

    def times(mode):
        return geomean([app["modes"][mode]["switch_ms"]["median"]
                        for app in apps if mode in app["modes"]])

    found = {key: over(key) for key in ("asap_over_off", "asap_over_warm", "warm_over_off",
                                        "ideal_over_off", "mapped_over_off")}
    found["worst_app"] = max((app["asap_over_off"] for app in apps if "asap_over_off" in app),
                             default=None)
    # (off - asap) / (off - warm) of the mean ratios to off
    for key, floor in (("gap_closed", "warm_over_off"), ("gap_closed_mapped", "mapped_over_off")):
        asap = found["asap_over_off"]
        found[key] = (rounded(ratio(1 - asap, 1 - found[floor]))
                      if asap is not None and found[floor] is not None else None)
    for kind in KINDS:
        sums = {key: sum(app["modes"]["asap"][kind][key] for app in apps if "asap" in app["modes"])
                for key in ("prefetched", "used", "faulted")}
        found[f"{kind}_accuracy"] = rounded(ratio(sums["used"], sums["prefetched"]))
        found[f"{kind}_recall"] = rounded(ratio(sums["used"], sums["used"] + sums["faulted"]))
    found["median_ms"] = {mode: rounded(times(mode), 2) for mode in MODES if times(mode)}
    return {key: value for key, value in found.items()
            if value is not None or not key.endswith("mapped") and "mapped" not in key}


def start_states(apps):
    """How far the start of `asap` is from that of `off`, in Swap and Rss: the widest."""
    widest = {}
    for app in apps:
        off, asap = (app["modes"].get(mode, {}).get("start") for mode in ("off", "asap"))
        if off and asap:
            for key in ("swap_kb", "rss_kb", "file_resident_kb"):
                apart = abs(asap[key] - off[key]) / max(off[key], 1)
                widest[key] = rounded(max(widest.get(key, 0), apart))
    return widest


def cell(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def table(result):
    head = ("app", "off ms", "asap ms", "warm ms", "ideal ms", "asap/off", "accuracy", "recall")
    rows = [head]
    for app in result["apps"]:
        def ms(mode):
            return app["modes"].get(mode, {}).get("switch_ms", {}).get("median")
        anon = app["modes"].get("asap", {}).get("anon", {})
        rows.append((app["name"], *(cell(ms(mode), 0) for mode in ("off", "asap", "warm", "ideal")),
                     cell(app.get("asap_over_off")), cell(anon.get("accuracy")),
                     cell(anon.get("recall"))))
    total = result["summary"]
    rows.append(("mean", *(cell(total["median_ms"].get(mode), 0)
                           for mode in ("off", "asap", "warm", "ideal")),
                 cell(total["asap_over_off"]), cell(total["anon_accuracy"]),
                 cell(total["anon_recall"])))
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines = ["  ".join(text.ljust(width) if i == 0 else text.rjust(width)
                       for i, (text, width) in enumerate(zip(row, widths))) for row in rows]
    return "\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1]])


def bars(result):
    lines = []
    for app in result["apps"]:
        times = {mode: app["modes"][mode]["switch_ms"]["median"]
                 for mode in MODES if mode in app["modes"]}
        longest = max(times.values())
        for i, (mode, ms) in enumerate(times.items()):
            bar = "#" * max(1, round(ms / longest * BAR))
            lines.append(f"{app['name'] if i == 0 else '':<10} {mode:<6} {bar:<{BAR}} {ms:.0f} ms")
    return "\n".join(lines)


def write_csv(path, rows):
    def flat(row):
        flattened = {}
        for key, value in row.items():
            if isinstance(value, dict):
                flattened.update({f"{key}_{k}": v for k, v in value.items()})
            elif key not in ("type", "done", "total"):
                flattened[key] = value
        return flattened

    rows = [flat(row) for row in rows]
    fields = list(dict.fromkeys(key for row in rows for key in row))
    with open(path, "w", newline="") as out:
        writer = csv.DictWriter(out, fields, restval="")
        writer.writeheader()
        writer.writerows(rows)


def report(out):
    found = list(events(f"{out}/results"))
    begin = next((e for e in found if e["type"] == "begin"), None)
    switches = [e for e in found if e["type"] == "switch"]
    measured = [e for e in switches if e["phase"] == "measure"]
    if switches:
        write_csv(f"{out}/switches.csv", switches)
    if not begin or not measured:
        sys.exit("demo: nothing was measured")

    wanted = begin["config"]
    storage = wanted["storage"]
    names = [name for name in wanted["apps"] if any(r["app"] == name for r in measured)]
    apps = [App(name, [r for r in measured if r["app"] == name]).result() for name in names]
    end = next((e for e in found if e["type"] == "end"), {})
    wrong = [r for r in switches if not r["answer_ok"]]
    result = {
        "base": begin["kernel"], "arch": begin["arch"], "smp": begin["smp"],
        "mem_mb": wanted["mem_mb"],
        "storage": {key: storage[key] for key in ("profile", "read_us", "swapin_us", "ratio")},
        "apps": apps, "summary": summary(apps),
        "start_apart": start_states(apps),
        "complete": bool(end), "wrong_answers": len(wrong),
        "config": wanted, "host": {},
    }
    if os.path.exists(f"{out}/host.json"):
        with open(f"{out}/host.json") as file:
            result["host"] = json.load(file)
    with open(f"{out}/result.json", "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")

    print()
    print(table(result))
    total = result["summary"]
    if total["gap_closed"] is not None:
        print(f"gap closed, (off - asap) / (off - warm): {total['gap_closed']:.2f};"
              f" worst app: {total['worst_app']:.2f}")
    print()
    print(bars(result))
    print()
    print(f"Linux {result['base']}, {result['smp']} CPUs, {result['mem_mb']} MiB, zram lz4;"
          f" medians of {wanted['rounds']} switches a mode, seed {wanted['seed']};"
          f" a 4 KiB swap-in fault takes {result['storage']['swapin_us']} us here.")
    if result["start_apart"]:
        print("Start of asap and of off differ by at most " + ", ".join(
            f"{value:.2%} in {key[:-3]}" for key, value in result["start_apart"].items()) + ".")
    print("Measured in an emulator without hardware virtualisation: only ratios within this boot"
          " mean anything.")
    if storage["profile"] == "none":
        print("Only anonymous pages were pushed out; storage has no part in it."
              " No phone was measured.")
    else:
        print(f"Storage is a model, {storage['profile']}: a read takes {storage['read_us']} us,"
              f" {storage['ratio']} swap-ins; an assumption. No phone was measured.")
    busy = result["host"].get("cpu_wait")
    if busy is not None and busy > BUSY:
        print(f"This machine was busy: for {busy:.0%} of the time some task waited for a CPU."
              " Expect noise.")
    print(f"{out}/result.json, {out}/switches.csv")
    if not result["complete"]:
        print("The run broke off: these are the switches until then.")
    if wrong:
        sys.exit(f"demo: {len(wrong)} answers differ from another mode's to the same request")


try:
    {"config": config, "watch": watch, "report": report}[sys.argv[1]](*sys.argv[2:])
except KeyboardInterrupt:
    sys.exit(130)
