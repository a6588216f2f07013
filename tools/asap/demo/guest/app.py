# SPDX-License-Identifier: GPL-2.0
"""The one protocol by which the driver works an app: start() returns when the app
is ready, request(questions) when its answer is complete, and gives the answer.

An app is a file apps/NAME.py with PACKAGES = "..." (Debian packages, on a line of
its own) and a class App. Most derive from Console (a program that reads commands
on its standard input) or Service (one that answers on a Unix socket).
"""
import os
import select
import socket
import subprocess
import time

DATA = "/srv/demo"


class AppError(Exception):
    pass


class Program:
    """A real program in a cgroup of its own. run_dir is its scratch directory."""
    start_timeout = 600
    answer_timeout = 300

    def __init__(self, name, run_dir, cgroup=None, root="/"):
        self.name = name
        self.run_dir = run_dir
        self.cgroup = cgroup
        self.root = root
        self.proc = None
        os.makedirs(run_dir, exist_ok=True)

    def spawn(self, argv, **popen):
        def enter():
            if self.cgroup:
                with open(f"{self.cgroup}/cgroup.procs", "w") as procs:
                    procs.write("0")
            os.chroot(self.root)
            os.chdir(self.run_dir)

        env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.run_dir,
               "LANG": "C.UTF-8", "TERM": "dumb", "XDG_RUNTIME_DIR": self.run_dir}
        with open(f"{self.run_dir}/stderr", "wb") as err:
            self.proc = subprocess.Popen(argv, preexec_fn=enter, env=env,
                                         stderr=popen.pop("stderr", err), **popen)

    def path(self, name, text=None):
        """A file in the app's scratch directory, written if text is given."""
        path = f"{self.run_dir}/{name}"
        if text is not None:
            with open(path, "w") as out:
                out.write(text)
        return path

    def stop(self):
        if self.proc:
            self.proc.kill()
            self.proc.wait()

    def fail(self, why):
        with open(f"{self.run_dir}/stderr", errors="replace") as err:
            last = err.read()[-500:].strip()
        raise AppError(f"{self.name}: {why}" + (f": {last}" if last else ""))


def read_until(fd, end, timeout, fail):
    """Read from fd until the data ends with end; return what came before it."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    deadline = time.monotonic() + timeout
    data = bytearray()
    while not data.endswith(end):
        if not poll.poll(max(0, deadline - time.monotonic()) * 1000):
            fail(f"no complete answer in {timeout} s")
        chunk = os.read(fd, 1 << 16)
        if not chunk:
            fail("the program ended")
        data += chunk
    return bytes(data[:-len(end)])


class Console(Program):
    """A program with a command line: mark(n) is the command that prints the line
    self.end(n); what comes before that line is the answer."""

    def mark(self, n):
        raise NotImplementedError

    def end(self, n):
        return b"--%d--\n" % n

    def open(self, argv):
        self.count = 0
        self.spawn(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def ask(self, text, timeout=None):
        self.count += 1
        os.write(self.proc.stdin.fileno(), (text + self.mark(self.count)).encode())
        return read_until(self.proc.stdout.fileno(), self.end(self.count),
                          timeout or self.answer_timeout, self.fail)


class Service(Program):
    """A program that answers on the Unix socket self.address."""

    def connect(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.address)
        return sock

    def wait_for_socket(self):
        deadline = time.monotonic() + self.start_timeout
        while True:
            try:
                return self.connect()
            except OSError:
                pass
            if self.proc.poll() is not None:
                self.fail("the program ended")
            if time.monotonic() > deadline:
                self.fail(f"not ready in {self.start_timeout} s")
            time.sleep(0.2)
