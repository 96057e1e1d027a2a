// SPDX-License-Identifier: Apache-2.0 OR MIT
// The header in C++, and the shared library on a host that has no module, or has it.
#include <fgio.h>

#include <cstdio>

int main()
{
	// A function has this name, too.
	struct fgio_status status;

	fgio_foreground_begin();
	fgio_request_begin(7);
	fgio_background_begin();
	if (::fgio_status(&status) || status.sections != 3 ||
	    status.class_ != FGIO_CLASS_BACKGROUND) {
		std::fprintf(stderr, "header: the status is wrong\n");
		return 1;
	}
	fgio_background_end();
	fgio_request_end();
	fgio_foreground_end();
	if ((fgio_init() == 0) != fgio_available() || fgio_wait_for(0) >= 0)
		return 1;
	fgio_wait_done();
	return 0;
}
