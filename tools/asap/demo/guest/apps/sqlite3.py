# SPDX-License-Identifier: GPL-2.0
"""The sqlite3 shell with an in-memory database, SQL typed in."""
from app import DATA, Console

PACKAGES = "sqlite3"

LOAD = f"""
CREATE TABLE package(name TEXT PRIMARY KEY, version TEXT, section TEXT, size INTEGER,
                     maintainer TEXT, depends TEXT, description TEXT);
CREATE TABLE depends(name TEXT, dep TEXT);
.mode tabs
.import {DATA}/packages.tsv package
.import {DATA}/depends.tsv depends
CREATE INDEX package_section ON package(section);
CREATE INDEX depends_name ON depends(name);
CREATE VIRTUAL TABLE words USING fts5(description, content=package);
INSERT INTO words(words) VALUES('rebuild');
ANALYZE;
"""

QUERIES = {
    "section": """
        SELECT section, count(*), sum(size) FROM package WHERE section = '{0}';
        SELECT name, version, size FROM package WHERE section = '{0}'
            ORDER BY size DESC, name LIMIT 10;""",
    "search": """
        SELECT p.name, p.description FROM words w JOIN package p ON p.rowid = w.rowid
            WHERE w.description MATCH '"{0}"';""",
    "closure": """
        WITH RECURSIVE need(name) AS (
            VALUES('{0}') UNION SELECT d.dep FROM depends d JOIN need n ON d.name = n.name)
        SELECT '{0}', count(*), sum(p.size) FROM need JOIN package p USING(name);""",
    "prefix": """
        SELECT name, version, maintainer FROM package WHERE name GLOB '{0}*';""",
}


class App(Console):
    def start(self):
        self.open(["sqlite3", "-batch", ":memory:"])
        self.ask(LOAD, self.start_timeout)

    def mark(self, n):
        return f".print --{n}--\n"

    def request(self, questions):
        return self.ask("".join(QUERIES[kind].format(arg) + "\n" for kind, arg in questions))
