/* SPDX-License-Identifier: BSD-2-Clause */
/* json_rows.c: rows of a model's tables as JSON objects, by the description of their figures. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json_parts.h"

static json_t *names_json(const char *const *names)
{
	json_t *array = json_array();

	for (int i = 0; i < SITE_FUNCTIONS && names[i]; i++)
		json_array_append_new(array, json_name(names[i]));
	return array;
}

static json_t *value_json(const struct figure *figure, const struct figure_value *value)
{
	if (!value->known && figure->kind != FIGURE_BYTES_OF && figure->kind != FIGURE_COUNT_OF)
		return json_null();
	switch (figure->kind) {
	case FIGURE_NAME:
	case FIGURE_RUNTIME:
		return json_name(value->text);
	case FIGURE_FLAG:
		return json_boolean(value->count);
	case FIGURE_REF:
	case FIGURE_ID:
	case FIGURE_COUNT:
	case FIGURE_NS:
	case FIGURE_SIZE:
		return json_count(value->count);
	case FIGURE_ROUGH:
	case FIGURE_TIME:
	case FIGURE_TIME_OF:
	case FIGURE_BYTES:
		return json_whole(value->real);
	case FIGURE_BYTES_OF:
	case FIGURE_COUNT_OF:
		return json_estimate(value->estimate, value->known);
	case FIGURE_SHARE:
	case FIGURE_SHARE_OF:
		return json_real(value->real);
	case FIGURE_NAMES:
		return names_json(value->names);
	case FIGURE_SHOWN:
		break;
	}
	return json_null();
}

/* The object that has the figure, and its name there. `create`: make what is missing. */
static json_t *place_of(json_t *object, const struct figure *figure, const char **name, bool create)
{
	json_t *group;

	*name = figure->key;
	if (!figure->group)
		return object;
	*name += strlen(figure->group) + 1;
	group = json_object_get(object, figure->group);
	if (group || !create)
		return group;
	group = json_object();
	return json_put(object, figure->group, group) < 0 ? NULL : group;
}

/* "survived_low", "survived_high". */
static void put_ends(json_t *object, const struct figure *figure, const struct figure_value *value)
{
	json_t *(*put)(double number) = figure->kind == FIGURE_TIME_OF ? json_whole : json_real;
	char name[64];

	snprintf(name, sizeof(name), "%s_low", figure->key);
	json_put(object, name, value->known ? put(value->estimate->low) : json_null());
	snprintf(name, sizeof(name), "%s_high", figure->key);
	json_put(object, name, value->known ? put(value->estimate->high) : json_null());
}

json_t *json_row(const struct model *model, enum row_kind table, const void *row)
{
	json_t *object = json_object(), *place;
	const char *name;

	for (unsigned i = figure_tables[table].first; i < figure_tables[table].end; i++) {
		const struct figure_value value = figure_read(model, i, row);

		if (figure_list[i].kind == FIGURE_SHOWN || figure_list[i].kind == FIGURE_REF)
			continue;
		place = place_of(object, &figure_list[i], &name, true);
		json_put(place, name, value_json(&figure_list[i], &value));
		if (figure_list[i].kind == FIGURE_SHARE_OF || figure_list[i].kind == FIGURE_TIME_OF)
			put_ends(object, &figure_list[i], &value);
	}
	return object;
}

json_t *json_rows(const struct model *model, enum row_kind table, size_t top, json_more *more)
{
	size_t count, size = figure_tables[table].size;
	const char *rows = figure_rows(model, table, &count);
	json_t *array = json_array();

	for (size_t i = 0; i < count && i < top; i++) {
		json_t *row = json_row(model, table, rows + i * size);

		if (more)
			more(row, rows + i * size);
		json_array_append_new(array, row);
	}
	return array;
}

/* --- reading -------------------------------------------------------------------------------- */

static const char *get_text(const json_t *value)
{
	const char *text = json_string_value(value);

	return text && *text ? text : NULL;
}

static enum runtime runtime_of(const char *name)
{
	for (enum runtime r = RUNTIME_NATIVE; r <= RUNTIME_KERNEL; r++)
		if (name && !strcmp(name, runtime_name(r)))
			return r;
	return RUNTIME_NATIVE;
}

static struct estimate get_estimate(const json_t *object)
{
	return (struct estimate){
		json_number_value(json_object_get(object, "estimate")),
		json_number_value(json_object_get(object, "low")),
		json_number_value(json_object_get(object, "high")),
	};
}

static double get_end(const json_t *row, const char *key, const char *end)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", key, end);
	return json_number_value(json_object_get(row, name));
}

static struct estimate get_share(const json_t *row, const char *key)
{
	const json_t *share = json_object_get(row, key);

	return (struct estimate){json_is_number(share) ? json_number_value(share) : -1,
				 get_end(row, key, "low"), get_end(row, key, "high")};
}

static void get_figure(const struct figure *figure, json_t *row, void *out)
{
	const char *name;
	const json_t *place = place_of(row, figure, &name, false);
	const json_t *value = json_object_get(place, name);

	switch (figure->kind) {
	case FIGURE_NAME:
		*(const char **)out = get_text(value);
		break;
	case FIGURE_NAMES:
		for (size_t i = 0; i < SITE_FUNCTIONS && i < json_array_size(value); i++)
			((const char **)out)[i] = json_string_value(json_array_get(value, i));
		break;
	case FIGURE_RUNTIME:
		*(enum runtime *)out = runtime_of(get_text(value));
		break;
	case FIGURE_FLAG:
		*(bool *)out = json_is_true(value);
		break;
	case FIGURE_REF:
	case FIGURE_ID:
	case FIGURE_COUNT:
	case FIGURE_NS:
	case FIGURE_SIZE:
		/* A sum; at most what fits, for times 584 years. */
		*(uint64_t *)out = (uint64_t)fmax(0, fmin(json_number_value(value), 1.8e19));
		break;
	case FIGURE_ROUGH:
	case FIGURE_SHARE:
	case FIGURE_TIME:
	case FIGURE_BYTES:
		*(double *)out = json_number_value(value);
		break;
	case FIGURE_BYTES_OF:
	case FIGURE_COUNT_OF:
		*(struct estimate *)out = get_estimate(value);
		break;
	case FIGURE_SHARE_OF:
	case FIGURE_TIME_OF:
		*(struct estimate *)out = get_share(row, figure->key);
		break;
	case FIGURE_SHOWN:
		break;
	}
}

void json_to_row(json_t *object, enum row_kind table, void *row)
{
	for (unsigned i = figure_tables[table].first; i < figure_tables[table].end; i++)
		get_figure(&figure_list[i], object, (char *)row + figure_list[i].offset);
}
