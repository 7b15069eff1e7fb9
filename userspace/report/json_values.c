/* SPDX-License-Identifier: BSD-2-Clause */
/* json_values.c: creates JSON values. */
#include "json_parts.h"

#include <math.h>

/*
 * Many readers parse JSON numbers as doubles; whole numbers are still printed without a
 * fraction, if jansson has an integer for them.
 */
json_t *json_whole(double value)
{
	if (!(value > 0))
		return json_integer(0);
	return value < 9.2e18 ? json_integer(llround(value)) : json_real(value);
}

json_t *json_count(uint64_t value)
{
	return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

json_t *json_name(const char *value)
{
	return value ? json_string(value) : json_null();
}

/* null if the figure is unknown. */
json_t *json_whole_if(bool known, double value)
{
	return known ? json_whole(value) : json_null();
}

/* jansson takes over every value. It rejects NULL (no memory), so the result shows the failure. */
int json_put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value);
}

json_t *json_estimate(const struct estimate *estimate, bool known)
{
	json_t *object = json_object();

	json_put(object, "estimate", json_whole_if(known, estimate->value));
	json_put(object, "low", json_whole_if(known, floor(estimate->low)));
	json_put(object, "high", json_whole_if(known, ceil(estimate->high)));
	return object;
}

json_t *json_if(bool known, json_t *value)
{
	const char *key;
	json_t *part;
	void *next;

	if (known || !value)
		return value;
	if (!json_is_object(value)) {
		bool list = json_is_array(value);

		json_decref(value);
		return list ? json_array() : json_null();
	}
	json_object_foreach_safe(value, next, key, part)
		json_object_set_new(value, key, json_if(false, json_incref(part)));
	return value;
}

json_t *json_share(double value)
{
	return value >= 0 ? json_real(value) : json_null();
}
