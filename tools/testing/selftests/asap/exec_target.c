// SPDX-License-Identifier: GPL-2.0
/*
 * What the tests exec: says that it runs (a byte to file descriptor 3) and stays
 * until that is closed at the other end (read from 4), or until it is killed.
 */
#include <unistd.h>

int main(void)
{
	char c = 'x';

	if (write(3, &c, 1) != 1)
		return 1;
	return read(4, &c, 1) ? 1 : 0;
}
