# SPDX-License-Identifier: GPL-2.0
"""Python's interactive interpreter with a data set loaded and functions defined."""
from app import DATA, Console

PACKAGES = "python3"

SESSION = f"""
import collections, heapq, re, sys

class Package:
    def __init__(self, name, version, section, size, maintainer, depends, description):
        self.name, self.version, self.section = name, version, section
        self.size, self.maintainer, self.description = int(size), maintainer, description
        self.depends = depends.split(",") if depends else []

packages = {{}}
sections = collections.defaultdict(list)
words = collections.defaultdict(list)
prefixes = collections.defaultdict(list)
for line in open("{DATA}/packages.tsv"):
    p = Package(*line.rstrip("\\n").split("\\t"))
    packages[p.name] = p
    sections[p.section].append(p)
    prefixes[p.name[:4]].append(p)
    for word in set(re.findall("[a-z]{{4,}}", p.description.lower())):
        words[word].append(p)

def section(name):
    found = sections[name]
    print(name, len(found), sum(p.size for p in found))
    for p in heapq.nlargest(10, found, key=lambda p: (p.size, p.name)):
        print("   ", p.name, p.version, p.size)

def search(word):
    for p in words[word]:
        print(p.name, "-", p.description)

def closure(name):
    seen, todo = set(), [name]
    while todo:
        p = packages.get(todo.pop())
        if p and p.name not in seen:
            seen.add(p.name)
            todo += p.depends
    print(name, len(seen), sum(packages[n].size for n in seen))

def prefix(text):
    for p in prefixes[text]:
        print(p.name, p.version, p.maintainer)
"""


class App(Console):
    def start(self):
        # Prompts go to stderr, as they do whenever stdout is not a terminal.
        self.open(["python3", "-q", "-i", self.path("session.py", SESSION)])
        self.ask("", self.start_timeout)

    def mark(self, n):
        return f"print('--%d--' % {n}, flush=True)\n"

    def request(self, questions):
        return self.ask("".join(f"{kind}({arg!r})\n" for kind, arg in questions))
