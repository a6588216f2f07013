/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's sort() on top of the C library's, for policy in user space. */
#ifndef _ASAP_LINUX_SORT_H
#define _ASAP_LINUX_SORT_H

#include <stdlib.h>

#define U8_MAX	((u8)~0U)
#define U16_MAX	((u16)~0U)

static inline void sort(void *base, size_t num, size_t size,
			int (*cmp)(const void *, const void *),
			void (*swap)(void *, void *, int))
{
	(void)swap;
	/* An empty array may be a null pointer here, not so for the library. */
	if (num)
		qsort(base, num, size, cmp);
}

#endif
