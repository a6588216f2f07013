/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A candidate table in memory, to be saved as text and loaded from it. Shared by
 * the tests and the fuzzer.
 */
#ifndef _ASAP_POLICY_SAVED_H
#define _ASAP_POLICY_SAVED_H

#include "check.h"
#include "footprint.h"

/**
 * struct saved - a table
 * @file: its files, each with a copy of its path
 * @nr_files: how many
 * @extent: the extents of all files
 * @owner: for each the index of its file
 * @nr_extents: how many
 * @commits: how often it was committed
 * @refuse: the record, counted from 1, commit included, that loading refuses
 * @refusal: and the errno for it
 */
struct saved {
	struct asap_footprint_file *file;
	u32 nr_files;
	struct asap_footprint_extent *extent;
	u32 *owner;
	u32 nr_extents;
	u32 commits;
	u32 refuse;
	int refusal;
};

/* How a text is cut into pieces: @size bytes each, or up to that many. */
struct cut {
	size_t size;
	u32 vary;
};

void saved_file(struct saved *saved, const struct asap_footprint_file *file);
void saved_extent(struct saved *saved,
		  const struct asap_footprint_extent *extent);
void saved_free(struct saved *saved);
int saved_equal(const struct saved *a, const struct saved *b);

/* Read @text in pieces into @saved, which is empty; @parser tells the rest. */
int load(struct asap_footprint_parser *parser, struct saved *saved,
	 const char *text, size_t len, struct cut cut);

/* The text of @saved, to be freed. */
char *save(const struct saved *saved, size_t *len);

/* Give a text the last line that it should have; @text has 64 bytes of room. */
size_t sign(char *text, size_t len);

/*
 * Load a text. One that is taken holds a table in order, and saving that gives
 * the same text. Return: the errno.
 */
int check_text(const char *text, size_t len, struct cut cut);

#endif
