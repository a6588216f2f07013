# SPDX-License-Identifier: GPL-2.0
"""An app's memory from outside: what is where, push it out, bring it back."""
import contextlib
import ctypes
import fcntl
import itertools
import mmap
import os
import struct
import time

PAGE = os.sysconf("SC_PAGE_SIZE")
CGROUP = "/sys/fs/cgroup"

libc = ctypes.CDLL(None, use_errno=True)
SYS_PROCESS_MADVISE = 440
SYS_CACHESTAT = 451
MADV_WILLNEED = 3
MADV_PAGEOUT = 21
MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT = 1, 2, 4
IOV_MAX = 1024
NOBODY = 65534

PAGEMAP_SCAN = 0xC0606610       # _IOWR('f', 16, struct pm_scan_arg)
PAGE_IS_PRESENT = 1 << 3
PAGE_IS_SWAPPED = 1 << 4


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


def iovecs(ranges):
    return (Iovec * len(ranges))(*(Iovec(start, end - start) for start, end in ranges))


def lock_driver():
    """The driver itself must not be swapped, or it would be measured too."""
    if libc.mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT):
        raise OSError(ctypes.get_errno(), "mlockall")


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def key_values(text):
    """'key value' lines, with or without a colon and a unit, as a dict of ints."""
    found = {}
    for line in text.splitlines():
        words = line.replace(":", " ").split()
        if len(words) >= 2 and words[1].lstrip("-").isdigit():
            found[words[0]] = int(words[1])
    return found


@contextlib.contextmanager
def not_owner():
    """As MADV_PAGEOUT takes file pages only from those who might write the file,
    ask as somebody who may not: then it takes the anonymous pages alone."""
    libc.setfsuid(NOBODY)
    try:
        yield
    finally:
        libc.setfsuid(0)


class Mapping:
    def __init__(self, line):
        fields = line.split(maxsplit=5)
        start, end = fields[0].split("-")
        self.start, self.end = int(start, 16), int(end, 16)
        self.perms = fields[1]
        self.path = fields[5] if len(fields) > 5 else ""
        self.file = fields[4] != "0"
        self.special = self.path in ("[vdso]", "[vvar]", "[vvar_vclock]", "[vsyscall]")

    @property
    def range(self):
        return self.start, self.end


def mappings(pid):
    return [m for m in map(Mapping, read(f"/proc/{pid}/maps").splitlines()) if not m.special]


def madvise(pid, ranges, advice):
    """Advise each range; ranges the kernel refuses are skipped."""
    fd = os.pidfd_open(pid)
    try:
        while ranges:
            part = ranges[:IOV_MAX]
            done = libc.syscall(SYS_PROCESS_MADVISE, fd, iovecs(part), ctypes.c_size_t(len(part)),
                                advice, 0)
            done = max(done, 0)
            for i, (start, end) in enumerate(part):
                if done < end - start:
                    ranges = ranges[i + 1:]
                    break
                done -= end - start
            else:
                ranges = ranges[len(part):]
    finally:
        os.close(fd)


def swapped(pid):
    """The ranges of pages that are in swap (as far as the page tables know)."""
    found = []
    regions = (ctypes.c_uint64 * (3 * 4096))()
    with open(f"/proc/{pid}/pagemap", "rb") as pagemap:
        for m in mappings(pid):
            start = m.start
            while start < m.end:
                arg = bytearray(struct.pack(
                    "=12Q", 96, 0, start, m.end, 0, ctypes.addressof(regions),
                    4096, 0, 0, PAGE_IS_SWAPPED, 0, PAGE_IS_SWAPPED))
                count = fcntl.ioctl(pagemap, PAGEMAP_SCAN, arg)
                found += [(regions[3 * i], regions[3 * i + 1]) for i in range(count)]
                start = struct.unpack_from("=Q", arg, 32)[0]
    return found


def push_out_files():
    """Every file page out of memory, whoever uses it: reclaim from the root of all
    cgroups that takes no anonymous page, until no more comes. All apps are frozen then,
    and the driver's own files are locked."""
    def left():
        info = key_values(read("/proc/meminfo"))
        return info["Active(file)"] + info["Inactive(file)"]

    before = left()
    for _ in range(8):
        try:
            write(f"{CGROUP}/memory.reclaim", f"{before}K swappiness=0")
        except OSError:
            pass
        now = left()
        if now >= before:
            break
        before = now
    write("/proc/sys/vm/drop_caches", "5")      # 1: page cache, 4: no line in the log


def resident(path):
    """Of each page of a file, 1 if it is in the page cache."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            return b""
        area = mmap.mmap(file.fileno(), size, flags=mmap.MAP_PRIVATE,
                         prot=mmap.PROT_READ | mmap.PROT_WRITE)
    pages = -(-size // PAGE)
    vector = (ctypes.c_ubyte * pages)()
    pointer = ctypes.c_char.from_buffer(area)
    libc.munlock(ctypes.c_void_p(ctypes.addressof(pointer)), ctypes.c_size_t(size))
    libc.mincore(ctypes.c_void_p(ctypes.addressof(pointer)), ctypes.c_size_t(size), vector)
    del pointer
    area.close()
    return bytes(byte & 1 for byte in vector)


def runs(pages):
    """The (start, end) of each run of ones."""
    at = 0
    while (start := pages.find(1, at)) >= 0:
        at = pages.find(0, start)
        if at < 0:
            at = len(pages)
        yield start, at


def touch(pid, ranges):
    """Read the ranges through the process's page tables, as a debugger would, which
    brings them in and maps them."""
    chunk = 256 * PAGE
    buffer = ctypes.create_string_buffer(chunk)
    for start, end in ranges:
        while start < end:
            size = min(chunk, end - start)
            got = libc.process_vm_readv(pid, iovecs([(ctypes.addressof(buffer),
                                                      ctypes.addressof(buffer) + size)]),
                                        ctypes.c_ulong(1), iovecs([(start, start + size)]),
                                        ctypes.c_ulong(1), ctypes.c_ulong(0))
            start += max(got, PAGE)


class Cgroup:
    """One app's cgroup: its processes and its memory."""

    def __init__(self, name):
        self.path = f"{CGROUP}/{name}"
        os.makedirs(self.path, exist_ok=True)
        self.freezer = os.open(f"{self.path}/cgroup.freeze", os.O_WRONLY)
        self.events = os.open(f"{self.path}/cgroup.events", os.O_RDONLY)
        self.files = {}         # by path: a byte a page, 1 if it was seen in memory

    def pids(self):
        return [int(pid) for pid in read(f"{self.path}/cgroup.procs").split()]

    def freeze(self):
        os.pwrite(self.freezer, b"1", 0)
        while b"frozen 1" not in os.pread(self.events, 200, 0):
            time.sleep(0.001)

    def thaw(self):
        os.pwrite(self.freezer, b"0", 0)

    def stat(self):
        return key_values(read(f"{self.path}/memory.stat"))

    def cpu_us(self):
        return key_values(read(f"{self.path}/cpu.stat"))["usage_usec"]

    def waits(self):
        """Where the app's time went so far, in microseconds: it computed; some of it had
        no CPU, waited for memory, waited for a device."""
        found = {"cpu_us": self.cpu_us()}
        for what in ("cpu", "memory", "io"):
            some = read(f"{self.path}/{what}.pressure").splitlines()[0]
            found[f"{what}_wait_us"] = int(some.rpartition("=")[2])
        return found

    def reclaim(self, size, swappiness):
        """Proactive reclaim; true if the kernel found that much."""
        try:
            write(f"{self.path}/memory.reclaim", f"{size} swappiness={swappiness}")
        except OSError:
            return False
        return True

    def push_out_anon(self, how):
        """Every anonymous page of a frozen app to swap; its file pages stay.

        madvise: MADV_PAGEOUT on each mapping, what Android does to a cached app
        reclaim: memory.reclaim, anonymous pages only, until no more comes
        """
        if how == "reclaim":
            left = self.stat()["anon"]
            while left and self.reclaim(left, 200):
                before, left = left, self.stat()["anon"]
                if left >= before:
                    break
        else:
            for pid in self.pids():
                private = [m.range for m in mappings(pid) if "p" in m.perms]
                with not_owner():
                    madvise(pid, private, MADV_PAGEOUT)
        # What an earlier switch brought in and nobody mapped would be found again.
        rest = self.stat().get("swapcached", 0)
        if rest:
            self.reclaim(rest, 200)

    def swapped_pages(self):
        """The pages in swap, as a set of (pid, page number)."""
        return {(pid, page) for pid in self.pids() for start, end in swapped(pid)
                for page in range(start // PAGE, end // PAGE)}

    def mapped_files(self):
        return {m.path for pid in self.pids() for m in mappings(pid)
                if m.file and m.path.startswith("/") and not m.path.endswith(" (deleted)")}

    def learn_files(self):
        """Remember which pages of its files are in memory, before they are pushed out."""
        for path in self.mapped_files():
            known = self.files.get(path, b"")
            now = resident(path)
            both = itertools.zip_longest(known, now, fillvalue=0)
            self.files[path] = bytes(a | b for a, b in both)

    def bring_back_files(self):
        """The pages that were seen in memory, back into the page cache; not mapped."""
        for path, pages in self.files.items():
            with open(path, "rb", buffering=0) as file:
                for start, end in runs(pages):
                    os.pread(file.fileno(), (end - start) * PAGE, start * PAGE)

    def bring_back(self):
        """Everything into memory, as MADV_WILLNEED leaves it: not mapped yet. It does
        nothing for the private pages of file mappings: those are touched."""
        for pid in self.pids():
            maps = mappings(pid)
            anon = [m.range for m in maps if not m.file]
            madvise(pid, anon, MADV_WILLNEED)
            files = [m for m in maps if m.file]
            touch(pid, [(start, end) for start, end in swapped(pid)
                        if any(m.start <= start < m.end for m in files)])

    def map_back(self):
        """Everything into memory and mapped."""
        for pid in self.pids():
            touch(pid, swapped(pid))

    def state(self):
        """Pages of the app's processes: mapped, anonymous, in swap; and of its cgroup."""
        total = {"rss": 0, "anon": 0, "swap": 0}
        for pid in self.pids():
            rollup = key_values(read(f"/proc/{pid}/smaps_rollup"))
            total["rss"] += rollup["Rss"]
            total["anon"] += rollup["Anonymous"]
            total["swap"] += rollup["Swap"]
        stat = self.stat()
        result = {f"{key}_kb": value for key, value in total.items()}
        result["swapcached_kb"] = stat.get("swapcached", 0) // 1024
        cached, size = self.file_pages()
        result["file_resident_kb"] = cached * PAGE // 1024
        result["file_mapped_kb"] = size * PAGE // 1024
        return result

    def file_pages(self):
        """Of the files that the app maps: pages in the page cache, pages in all."""
        cached = total = 0
        whole = (ctypes.c_uint64 * 2)(0, 0)
        answer = (ctypes.c_uint64 * 5)()
        for path in self.mapped_files():
            fd = os.open(path, os.O_RDONLY)
            if libc.syscall(SYS_CACHESTAT, fd, whole, answer, 0) == 0:
                cached += answer[0]
                total += -(-os.fstat(fd).st_size // PAGE)
            os.close(fd)
        return cached, total


def swapin_us(size=32 << 20, batch=64):
    """The cost of one 4 KiB swap-in fault, in microseconds: the time to touch pages in
    swap, less that to touch them again. Of batches of pages the fastest tenth counts:
    the host's other work only ever adds."""
    area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    libc.munlock(ctypes.c_void_p(address), ctypes.c_size_t(size))
    with open("/srv/demo/packages.tsv", "rb") as real:
        at = 0
        while at < size:
            text = real.read(min(1 << 20, size - at))
            if not text:
                real.seek(0)
                continue
            area[at:at + len(text)] = text
            at += len(text)
    libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), MADV_PAGEOUT)

    def walk():
        times = []
        for start in range(0, size, batch * PAGE):
            clock = time.monotonic_ns()
            for at in range(start, start + batch * PAGE, PAGE):
                area[at]
            times.append(time.monotonic_ns() - clock)
        return sorted(times)[len(times) // 10]

    cold, hot = walk(), walk()
    return (cold - hot) / batch / 1000
