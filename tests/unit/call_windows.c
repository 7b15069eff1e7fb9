/* SPDX-License-Identifier: BSD-2-Clause */
/* model_windows_merged.c: tests of call estimates in a merge of many recordings. */
#include <math.h>

#include "model/system/call_windows.h"
#include "test.h"

#define MS UINT64_C(1000000)

/* A merged profile of untrusted origin may have that many. */
TEST(calls_of_many_recordings_are_estimated_fast)
{
	enum { MANY = 65536, CALLS = 1000 };
	const double more[CALL_FIGURES] = {10, 1000};
	struct call_windows windows;
	struct estimate estimate;
	uint64_t gap;

	CHECK_EQ(call_windows_init(&windows), 0);
	for (uint64_t i = 0; i < MANY; i++) {
		uint64_t begin = 0;

		for (uint64_t n = 1; n <= 2; n++, begin += 20 * MS) {
			const struct record_call_cpu cpu = {
				.process = i, .traced_ns = n * 10 * MS, .untraced_ns = n * 10 * MS};
			const struct record_call_window window = {
				.recording = i, .begin = begin + 1, .end = begin + 10 * MS};

			CHECK_EQ(call_windows_cpu(&windows, i, &cpu), 0);
			CHECK_EQ(call_windows_calls(&windows, i, i, i % CALLS, more), 0);
			CHECK_EQ(call_windows_add(&windows, &window, &gap), 0);
		}
	}
	call_windows_finish(&windows);
	for (uint64_t i = 0; i < 20 * CALLS; i++) {
		uint64_t recordings = MANY / CALLS + (i % CALLS < MANY % CALLS);

		CHECK(call_windows_estimate(&windows, i % CALLS, CALL_COUNT,
					    20.0 * (double)recordings, &estimate));
		CHECK(fabs(estimate.value - 30.0 * (double)recordings) < (double)recordings);
	}
	call_windows_free(&windows);
}
