// SPDX-License-Identifier: GPL-2.0
/*
 * Count the instructions of page faults, in a guest whose TSC counts them (QEMU
 * with -icount shift=0: one tick an instruction).
 *
 * usage: faultcost MODE ROUNDS FILE
 *
 * Prints "MODE KIND INSTRUCTIONS" for each round, the mean of one fault of that
 * round. FILE is in the page cache, on a file system whose faults are filemap's.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	4096UL
/*
 * Faults in a round: few, so that a timer tick falls into few of the rounds, and
 * all in one page table.
 */
#define FAULTS	100
/* Pages that the kernel maps around a file page that is faulted in. */
#define AROUND	16
#define TABLE	(512 * PAGE)

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static uint64_t instructions(void)
{
	return __builtin_ia32_rdtsc();
}

static char get(const char *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static void put(char *at)
{
	__atomic_store_n(at, 1, __ATOMIC_RELAXED);
}

/* A piece of address space with a page table of its own, and a page in that. */
static char *map_table(size_t pages, int flags, int fd)
{
	char *space = mmap(NULL, 2 * TABLE + pages * PAGE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *table = (char *)(((uintptr_t)space + TABLE - 1) & ~(TABLE - 1));
	char *area = table + PAGE;

	if (space == MAP_FAILED ||
	    mmap(table, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != table ||
	    mmap(area, pages * PAGE, PROT_READ | PROT_WRITE, flags | MAP_FIXED,
		 fd, 0) != area)
		fail("mmap");
	madvise(table, PAGE, MADV_NOHUGEPAGE);
	madvise(area, pages * PAGE, MADV_NOHUGEPAGE);
	put(table);
	return area;
}

static uint64_t touch(char *area, size_t step, int write)
{
	uint64_t began;
	size_t i;

	began = instructions();
	if (write)
		for (i = 0; i < FAULTS; i++)
			put(area + i * step);
	else
		for (i = 0; i < FAULTS; i++)
			get(area + i * step);
	return instructions() - began;
}

static void print(const char *mode, const char *kind, uint64_t sum)
{
	printf("%s %s %.2f\n", mode, kind, (double)sum / FAULTS);
}

static void zero_fill(const char *mode, int rounds)
{
	char *area = map_table(FAULTS, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	while (rounds--) {
		print(mode, "zero_fill", touch(area, PAGE, 1));
		if (madvise(area, FAULTS * PAGE, MADV_DONTNEED))
			fail("MADV_DONTNEED");
	}
}

static size_t present(const char *area, int fd)
{
	uint64_t val[FAULTS];
	size_t i, n = 0;

	if (pread(fd, val, sizeof(val), (uintptr_t)area / PAGE * 8) != sizeof(val))
		fail("pagemap");
	for (i = 0; i < FAULTS; i++)
		n += val[i] >> 63;
	return n;
}

static void swap_in(const char *mode, int rounds)
{
	char *area = map_table(FAULTS, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	int fd = open("/proc/self/pagemap", O_RDONLY), tries;
	size_t i, k;

	if (fd < 0)
		fail("pagemap");
	/* Half of a page does not repeat itself. */
	srand(1);
	for (i = 0; i < FAULTS; i++)
		for (k = 0; k < PAGE; k++)
			area[i * PAGE + k] = k < PAGE / 2 ? (char)rand() : (char)(i + 1);
	while (rounds--) {
		for (tries = 0; present(area, fd); tries++) {
			if (tries == 100) {
				fprintf(stderr, "pages stay in memory\n");
				exit(2);
			}
			madvise(area, FAULTS * PAGE, MADV_PAGEOUT);
		}
		print(mode, "swap_in", touch(area, PAGE, 0));
	}
	close(fd);
}

static void file_minor(const char *mode, const char *kind, int rounds,
		       const char *path, size_t step)
{
	int fd = open(path, O_RDWR);
	size_t pages = FAULTS * step / PAGE;
	char *area;

	if (fd < 0)
		fail(path);
	area = map_table(pages, MAP_SHARED, fd);
	/* Page tables of all of it. */
	touch(area, step, 0);
	while (rounds--) {
		if (madvise(area, pages * PAGE, MADV_DONTNEED))
			fail("MADV_DONTNEED");
		print(mode, kind, touch(area, step, 0));
	}
	close(fd);
}

static void fault_around(unsigned long bytes)
{
	FILE *f = fopen("/sys/kernel/debug/fault_around_bytes", "w");

	if (!f || fprintf(f, "%lu", bytes) < 0 || fclose(f))
		fail("fault_around_bytes");
}

int main(int argc, char **argv)
{
	static char buf[1 << 16];
	int rounds;

	if (argc != 4) {
		fprintf(stderr, "usage: faultcost MODE ROUNDS FILE\n");
		return 2;
	}
	setvbuf(stdout, buf, _IOFBF, sizeof(buf));
	rounds = atoi(argv[2]);
	zero_fill(argv[1], rounds);
	swap_in(argv[1], rounds);
	file_minor(argv[1], "file_around", rounds, argv[3], AROUND * PAGE);
	fault_around(PAGE);
	file_minor(argv[1], "file_single", rounds, argv[3], PAGE);
	fault_around(AROUND * PAGE);
	return fflush(stdout) ? 2 : 0;
}
