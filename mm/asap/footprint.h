/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ASAP: the text in which the candidate table of an app's files is saved.
 *
 * Reading and writing it are pure code: no locks, no allocation, no mm types.
 * footprint.c describes the text. The same file builds in user space, where
 * tests and a fuzzer run it.
 *
 * Context of every function here: any; none sleeps, unless an operation of
 * &struct asap_footprint_ops does. The caller owns all memory and serialises
 * access to it.
 */
#ifndef _MM_ASAP_FOOTPRINT_H
#define _MM_ASAP_FOOTPRINT_H

#include <linux/types.h>

/* What one table may hold. */
#define ASAP_FOOTPRINT_MAX_FILES	65536
#define ASAP_FOOTPRINT_MAX_EXTENTS	1048576

/* Characters of a path as it is written, that is with its escapes. */
#define ASAP_FOOTPRINT_PATH_MAX		4095

/*
 * The longest line, with its '\n': that of a file with a UUID, 20 digits each of
 * inode number and pages, 10 of generation, and the longest path.
 */
#define ASAP_FOOTPRINT_LINE_MAX		4192

/**
 * struct asap_file_id - what a file is known by while nobody has it open
 * @uuid: UUID of the file system, all zeroes if it has none
 * @ino: inode number
 * @dev: device number as the kernel keeps it (20 bits of minor number); counts
 *	only where there is no UUID, and is 0 in what the parser gives if there is
 * @generation: of the inode; differs when its number was reused
 */
struct asap_file_id {
	u8 uuid[16];
	u64 ino;
	u32 dev;
	u32 generation;
};

/**
 * struct asap_footprint_file - a file of the table
 * @id: which
 * @pages: its size, in pages, when it was learned
 * @path: where it was then, for people to read, without escapes; "" for unknown
 */
struct asap_footprint_file {
	struct asap_file_id id;
	u64 pages;
	const char *path;
};

/**
 * struct asap_footprint_extent - pages of a file that are candidates
 * @first: index of the first page
 * @pages: how many, at least 1
 * @rank: when they were touched, 0 (first) to 65535 (last) of a switch
 * @hist: outcomes of the last windows, like &struct asap_ent.hist; not 0
 */
struct asap_footprint_extent {
	u64 first;
	u64 pages;
	u16 rank;
	u8 hist;
};

/**
 * struct asap_footprint_tally - what of a table has been written, or read, so far
 * @crc: of its text
 * @files: how many
 * @extents: how many
 * @id: the last file
 * @pages: its size
 * @next: the first page that its next extent may begin at
 *
 * The writer's whole state.
 */
struct asap_footprint_tally {
	u32 crc;
	u32 files;
	u32 extents;
	struct asap_file_id id;
	u64 pages;
	u64 next;
};

/**
 * struct asap_footprint_ops - who takes what is read
 * @file: a file; it and its path are valid during the call only
 * @extent: an extent of the file that was given last
 * @commit: the table is complete, and was right from the first byte to the last
 *
 * Each returns 0, or a negative errno that ends the reading.
 */
struct asap_footprint_ops {
	int (*file)(void *priv, const struct asap_footprint_file *file);
	int (*extent)(void *priv, const struct asap_footprint_extent *extent);
	int (*commit)(void *priv);
};

/**
 * struct asap_footprint_parser - a table that is being read
 * @ops: who takes it
 * @priv: passed to @ops
 * @tally: what was read
 * @error: 0, or the errno that every further byte gets
 * @why: what is wrong, a few words for the log; NULL without an error
 * @line: the line that the last byte read belongs to, from 1: with an error the
 *	one that is wrong
 * @done: the last line was read
 * @len: characters in @buf
 * @buf: the line that is being read
 *
 * More than 4 KiB: not for the stack.
 */
struct asap_footprint_parser {
	const struct asap_footprint_ops *ops;
	void *priv;
	struct asap_footprint_tally tally;
	int error;
	const char *why;
	u32 line;
	bool done;
	u32 len;
	char buf[ASAP_FOOTPRINT_LINE_MAX];
};

int asap_file_id_cmp(const struct asap_file_id *a, const struct asap_file_id *b);

void asap_footprint_parse(struct asap_footprint_parser *parser,
			  const struct asap_footprint_ops *ops, void *priv);
int asap_footprint_feed(struct asap_footprint_parser *parser, const char *text,
			size_t len);

int asap_footprint_emit_version(struct asap_footprint_tally *tally, char *buf,
				size_t size);
int asap_footprint_emit_file(struct asap_footprint_tally *tally, char *buf,
			     size_t size, const struct asap_footprint_file *file);
int asap_footprint_emit_extent(struct asap_footprint_tally *tally, char *buf,
			       size_t size,
			       const struct asap_footprint_extent *extent);
int asap_footprint_emit_end(const struct asap_footprint_tally *tally, char *buf,
			    size_t size);

#endif /* _MM_ASAP_FOOTPRINT_H */
