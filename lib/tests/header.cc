// SPDX-License-Identifier: Apache-2.0 OR MIT
// The header in C++, and the shared library on a host that has no module, or has it.
#include <fgio.h>

#include <cstdio>

int main()
{
	// A function has this name, too.
	struct fgio_status status;
	struct fgio_user_request made = { fgio_request_new(), 250, 4 }, found;
	char text[FGIO_REQUEST_TEXT_BYTES];

	if (fgio_request_format(&made, text, sizeof(text)) < 0 ||
	    fgio_request_parse(text, &found) || found.id != made.id || found.parts != 4 ||
	    !fgio_request_is_before(made.id, fgio_request_new())) {
		std::fprintf(stderr, "header: a request did not come back\n");
		return 1;
	}
	fgio_foreground_begin();
	fgio_request_begin_as(&made);
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
