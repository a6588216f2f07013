# SPDX-License-Identifier: GPL-2.0
"""What the person asks. Every app holds the same data, Debian's package index,
and answers the same four kinds of question about it:

section S   how many packages, how large together, the ten largest
search W    the packages whose description has the word W
closure P   everything that P needs, directly or not, and how large that is
prefix X    the packages whose names begin with X

A request is a page of different questions. As with a person who goes back to an
app, most of them (USUAL_SHARE) are from a small repertoire, the more usual ones
more often (Zipf); the others are new, drawn from all that the data holds.
"""
import json
import random

KINDS = ("section", "search", "closure", "prefix")
USUAL_SHARE = 0.75
REPERTOIRE = 32


class Person:
    def __init__(self, vocab_path, seed, page=24):
        with open(vocab_path) as vocab:
            words = json.load(vocab)
        self.words = {"section": words["sections"], "search": words["words"],
                      "closure": words["names"], "prefix": words["prefixes"]}
        self.page = page
        rng = random.Random(f"repertoire {seed}")
        # As many of each kind, in a random order of preference.
        self.usual = [self.new(rng, KINDS[i % len(KINDS)]) for i in range(REPERTOIRE)]
        rng.shuffle(self.usual)
        self.weights = [1 / rank for rank in range(1, REPERTOIRE + 1)]

    def new(self, rng, kind=None):
        kind = kind or rng.choice(KINDS)
        return kind, rng.choice(self.words[kind])

    def request(self, seed):
        """The questions of one request, as (kind, argument) pairs."""
        rng = random.Random(f"request {seed}")
        usual = sum(rng.random() < USUAL_SHARE for _ in range(self.page))
        # Weighted, without replacement: the largest of random() ** (1 / weight).
        keys = {rng.random() ** (1 / weight): question
                for weight, question in zip(self.weights, self.usual)}
        page = [keys[key] for key in sorted(keys, reverse=True)[:usual]]
        page += [self.new(rng) for _ in range(self.page - usual)]
        rng.shuffle(page)
        return page
