#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare the instructions of faults: usage: report.py RESULTS... >result.json

Prints a table to stderr; the exit status is 1 when a limit is exceeded.

Of the rounds of a mode the lowest tenth is compared: a round in which a timer fired
or the allocator went its longer way has a few percent more, in any kernel.
"""
import json
import sys

KINDS = ["zero_fill", "swap_in", "file_around", "file_single"]
# More than the stock kernel, in percent.
LIMITS = {"off": 0.2, "on": 1.0, "app": 1.0, "window": 5.0}


def tenth(values):
    return sorted(values)[len(values) // 10]


def main():
    rounds = {}
    for name in sys.argv[1:]:
        with open(name, encoding="ascii") as f:
            for line in f:
                words = line.split()
                if len(words) == 3 and words[1] in KINDS:
                    rounds.setdefault((words[0], words[1]), []).append(float(words[2]))

    result = {"unit": "instructions per fault", "limits_percent": LIMITS, "kinds": {}}
    bad = 0
    print(f"{'instructions per fault':24}{'stock':>10}"
          + "".join(f"{m:>20}" for m in LIMITS), file=sys.stderr)
    for kind in KINDS:
        stock = tenth(rounds["stock", kind])
        row = {"stock": {"instructions": stock, "rounds": len(rounds["stock", kind])}}
        text = f"{kind:24}{stock:10.1f}"
        for mode, limit in LIMITS.items():
            values = rounds[mode, kind]
            low = tenth(values)
            more = 100 * (low / stock - 1)
            ok = more <= limit
            bad += not ok
            row[mode] = {"instructions": low, "rounds": len(values),
                         "more_percent": round(more, 3), "ok": ok}
            text += f"{low:11.1f} {more:+6.2f}%{' ' if ok else '!'}"
        result["kinds"][kind] = row
        print(text, file=sys.stderr)
    print("limits".ljust(34) + "".join(f"{'':11} {v:+6.2f}% " for v in LIMITS.values()),
          file=sys.stderr)
    json.dump(result, sys.stdout, indent=1)
    print()
    return 1 if bad else 0


sys.exit(main())
