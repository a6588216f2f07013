#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Turn Debian's package index (apt-cache dumpavail on stdin) into the data that
the demo's apps work on, in the directory given:

packages.tsv  name, version, section, installed KiB, maintainer, depends, description
depends.tsv   name, name it depends on
vocab.json    what a person can ask about: names, sections, words, prefixes
"""
import collections
import json
import re
import sys

WORD = re.compile(r"[a-z]{4,}")


def stanzas(lines):
    """Yield each stanza as a dict of its single-line fields."""
    fields = {}
    for line in lines:
        if line == "\n":
            if fields:
                yield fields
            fields = {}
        elif not line[0].isspace():
            key, _, value = line.partition(":")
            fields[key] = value.strip().replace("\t", " ")
    if fields:
        yield fields


def depends_on(text):
    """First alternative of each dependency, without versions."""
    names = (part.split("|")[0].split("(")[0].split(":")[0].strip() for part in text.split(","))
    return sorted({name for name in names if name})


def main(out):
    packages = {}
    for fields in stanzas(sys.stdin):
        name = fields.get("Package")
        if name and "Section" in fields and name not in packages:
            packages[name] = fields

    sections = collections.Counter()
    words = collections.Counter()
    prefixes = collections.Counter()
    with open(f"{out}/packages.tsv", "w") as table, open(f"{out}/depends.tsv", "w") as depends:
        for name in sorted(packages):
            fields = packages[name]
            needs = depends_on(fields.get("Depends", ""))
            description = fields.get("Description", "").replace('"', "'")
            table.write("\t".join((
                name, fields["Version"], fields["Section"], fields.get("Installed-Size", "0"),
                fields.get("Maintainer", "").replace('"', ""), ",".join(needs), description)) + "\n")
            for need in needs:
                depends.write(f"{name}\t{need}\n")
            sections[fields["Section"]] += 1
            words.update(set(WORD.findall(description.lower())))
            prefixes[name[:4]] += 1

    # Nothing so rare that the answer is empty, nothing so common that it is all.
    with open(f"{out}/vocab.json", "w") as vocab:
        json.dump({
            "names": sorted(packages),
            "sections": sorted(s for s, n in sections.items() if 50 <= n <= 4000),
            "words": sorted(w for w, n in words.items() if 20 <= n <= 1500),
            "prefixes": sorted(p for p, n in prefixes.items() if 5 <= n <= 500),
        }, vocab)


main(sys.argv[1])
