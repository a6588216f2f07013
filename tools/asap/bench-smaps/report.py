#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Turn the results of a stock and of a patched boot into result.json.

usage: report.py STOCK PATCHED

stock_rollup_ms and the contention figures of "stock" are as they would be in the
patched kernel's boot: scaled by that boot's sum over smaps, or by its spinner.
"""
import json
import statistics
import sys


def read(path):
    """The lines of a boot: rates by (VMAs, pages), rounds by (kind, mode)."""
    rates, rounds = {}, {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            word = line.split()
            if word and word[0] == "rate":
                rates[int(word[1]), int(word[2])] = {
                    "iterations": int(word[3]),
                    "smaps_ms": float(word[4]),
                    "rollup_ms": float(word[5]),
                }
            elif word and word[0] == "contention":
                rounds.setdefault((word[1], word[2]), []).append(
                    (float(word[4]), float(word[5]), int(word[6]), float(word[7])))
    return rates, rounds


def median(rounds, column):
    return statistics.median(r[column] for r in rounds)


def latency(rounds, scale=(1, 1)):
    return {
        "p50_us": round(median(rounds, 0) * scale[0], 3),
        "p99_us": round(median(rounds, 1) * scale[1], 3),
        "rounds": len(rounds),
        "samples_per_s": round(statistics.median(
            1000 * r[2] / r[3] for r in rounds), 2),
    }


def main():
    stock_rates, stock_rounds = read(sys.argv[1])
    rates, rounds = read(sys.argv[2])
    result = {
        "where": "QEMU TCG, 2 CPUs; only ratios within a boot mean anything",
        "vmas": {},
        "contention": {},
    }
    for (vmas, pages), r in sorted(rates.items()):
        stock = stock_rates[vmas, pages]
        stock_rollup = stock["rollup_ms"] * r["smaps_ms"] / stock["smaps_ms"]
        point = {
            "iterations": r["iterations"],
            "smaps_ms": r["smaps_ms"],
            "rollup_ms": r["rollup_ms"],
            "stock_rollup_ms": round(stock_rollup, 4),
            "ratio": round(r["smaps_ms"] / r["rollup_ms"], 2),
            "stock_ratio": round(stock["smaps_ms"] / stock["rollup_ms"], 2),
            "over_stock": round(r["rollup_ms"] / stock_rollup, 3),
        }
        result["vmas"].setdefault(str(vmas), {"pages": {}})["pages"][str(pages)] = point
    for kind in sorted({k for k, _ in rounds}):
        spinner, stock_spinner = rounds[kind, "spinner"], stock_rounds[kind, "spinner"]
        scale = [median(spinner, c) / median(stock_spinner, c) for c in (0, 1)]
        point = {
            "none": latency(rounds[kind, "none"]),
            "spinner": latency(spinner),
            "stock": latency(stock_rounds[kind, "reader"], scale),
            "asap": latency(rounds[kind, "reader"]),
        }
        for mode in ("stock", "asap"):
            for p in ("p50", "p99"):
                point[mode][p + "_over_spinner"] = round(
                    point[mode][p + "_us"] / point["spinner"][p + "_us"], 3)
        result["contention"][kind] = point
    json.dump(result, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
