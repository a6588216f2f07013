# SPDX-License-Identifier: GPL-2.0
"""Redis with the packages as hashes and sorted sets, asked with pipelined commands."""
import collections
import re
import subprocess

from app import DATA, Service, read_until

PACKAGES = "redis-server"

WORD = re.compile("[a-z]{4,}")


def command(*words):
    words = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join([b"$%d\r\n%b\r\n" % (len(w), w) for w in words])


# A server-side script, as Redis users write for what needs many look-ups.
CLOSURE = """
local seen, todo, count, sum = {}, {KEYS[1]}, 0, 0
while #todo > 0 do
  local name = table.remove(todo)
  if not seen[name] then
    seen[name] = true
    local size = redis.call('HGET', 'package:' .. name, 'size')
    if size then
      count, sum = count + 1, sum + size
      for _, dep in ipairs(redis.call('SMEMBERS', 'depends:' .. name)) do
        todo[#todo + 1] = dep
      end
    end
  end
end
return {count, sum}
"""


def questions_as_commands(kind, arg):
    if kind == "section":
        key = f"section:{arg}"
        return [command("ZCARD", key), command("ZRANGE", key, 0, -1, "WITHSCORES"),
                command("SORT", key, "BY", "nosort", "DESC", "LIMIT", 0, 10,
                        "GET", "#", "GET", "package:*->version", "GET", "package:*->size")]
    if kind == "search":
        return [command("SORT", f"word:{arg}", "ALPHA", "GET", "#",
                        "GET", "package:*->description")]
    if kind == "closure":
        return [command("EVAL", CLOSURE, 1, arg)]
    return [command("SORT", f"prefix:{arg}", "ALPHA", "GET", "#", "GET", "package:*->version",
                    "GET", "package:*->maintainer")]


class App(Service):
    def start(self):
        self.address = self.path("redis.sock")
        self.spawn(["redis-server", "--port", "0", "--unixsocket", self.address,
                    "--save", "", "--appendonly", "no", "--daemonize", "no"],
                   stdout=subprocess.DEVNULL)
        self.sock = self.wait_for_socket()
        self.count = 0
        with open(f"{DATA}/packages.tsv") as table:
            self.load(table)

    def load(self, table):
        groups = collections.defaultdict(list)      # the members of the prefixes and words
        batch = []
        for line in table:
            name, version, section, size, maintainer, depends, text = line.rstrip("\n").split("\t")
            batch += [command("HSET", f"package:{name}", "version", version, "section", section,
                              "size", size, "maintainer", maintainer, "description", text),
                      command("ZADD", f"section:{section}", size, name)]
            if depends:
                batch.append(command("SADD", f"depends:{name}", *depends.split(",")))
            groups[f"prefix:{name[:4]}"].append(name)
            for word in set(WORD.findall(text.lower())):
                groups[f"word:{word}"].append(name)
            if len(batch) > 1000:
                self.call(batch)
                batch = []
        self.call(batch + [command("SADD", key, *names) for key, names in groups.items()])

    def call(self, commands):
        """Pipelined, with an echo at the end: when that is back, the answer is complete."""
        self.count += 1
        end = b"--%d--" % self.count
        self.sock.sendall(b"".join(commands) + command("ECHO", end.decode()))
        reply = read_until(self.sock.fileno(), b"$%d\r\n%s\r\n" % (len(end), end),
                           self.answer_timeout, self.fail)
        if reply.startswith(b"-") or b"\r\n-ERR" in reply:
            self.fail(f"redis answered {reply[:200]!r}")
        return reply

    def request(self, questions):
        return self.call([command for kind, arg in questions
                          for command in questions_as_commands(kind, arg)])
