/* SPDX-License-Identifier: BSD-2-Clause */
/* call_windows.c: tests of call estimates without a profile: merges of many recordings, waits. */
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
				.process = i, .traced_ns = 10 * MS, .untraced_ns = 10 * MS};
			const struct record_call_window window = {
				.recording = i, .begin = begin + 1, .end = begin + 10 * MS};

			CHECK_EQ(call_windows_cpu(&windows, i, 0, &cpu), 0);
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

/* Twenty threads wait in a call. What of the first windows is known comes with the third, which is
 * short: it is no measure of what the gaps before it had. */
TEST(waits_are_scaled_by_all_windows_that_their_first_figures_cover)
{
	enum { THREADS = 20, COUNT = 40, WAIT = 230 };
	struct record_call_cpu cpu = {.process = 1};
	double fresh[CALL_FIGURES] = {0}, traced = 0;
	struct call_windows windows;
	struct estimate estimate;
	uint64_t time = 1000 * MS, gap;

	CHECK_EQ(call_windows_init(&windows), 0);
	for (int i = 0; i < COUNT; i++) {
		uint64_t ns = i == 2 ? MS / 10 : 10 * MS;
		struct record_call_window window = {
			.begin = time, .end = time + ns, .call_ns = 200};

		cpu.traced_ns += ns / 2;
		cpu.untraced_ns += i ? 50 * MS : 0;
		fresh[CALL_NS] += (double)(THREADS * ns);
		traced += (double)(THREADS * ns);
		if (i >= 2) {
			CHECK_EQ(call_windows_calls(&windows, 0, 1, WAIT, fresh), 0);
			CHECK_EQ(call_windows_cpu(&windows, 0, 1000 * MS, &cpu), 0);
			cpu.traced_ns = cpu.untraced_ns = 0;
			fresh[CALL_NS] = 0;
		}
		CHECK_EQ(call_windows_add(&windows, &window, &gap), 0);
		time += ns + 100 * MS;
	}
	CHECK_EQ(call_windows_end(&windows, 0, time), 0);
	call_windows_finish(&windows);
	CHECK(call_windows_estimate(&windows, WAIT, CALL_NS, traced, &estimate));
	CHECK(estimate.low > 0.9 * THREADS * (double)(time - 1000 * MS));
	CHECK(estimate.high < 1.1 * THREADS * (double)(time - 1000 * MS));
	CHECK(estimate.low < THREADS * (double)(time - 1000 * MS));
	CHECK(estimate.high > THREADS * (double)(time - 1000 * MS));
	call_windows_free(&windows);
}
