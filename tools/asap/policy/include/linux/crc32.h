/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's crc32_le(), bit by bit, for the footprint in user space. */
#ifndef _ASAP_LINUX_CRC32_H
#define _ASAP_LINUX_CRC32_H

#include <linux/types.h>

static inline u32 crc32_le(u32 crc, const unsigned char *p, size_t len)
{
	unsigned int bit;

	while (len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

#endif
