/* SPDX-License-Identifier: BSD-2-Clause */
/* plural.c: tests of words that depend on a number, and of every loss as one and as many. */
#include "test.h"

#include "util/plural.h"

TEST(one_and_many_have_words_of_their_own)
{
	CHECK_STR(plural(1, "page[|s] [was|were] read | [it|them]").text, "page was read | it");
	CHECK_STR(plural(2, "page[|s] [was|were] read | [it|them]").text, "pages were read | them");
	CHECK_STR(plural(0, "page[|s]").text, "pages");
	CHECK_STR(plural(1, "").text, "");
}

TEST(what_is_too_long_or_has_no_end_is_cut)
{
	char text[400];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	CHECK_EQ(strlen(plural(1, text).text), sizeof(struct plural_text) - 1);
	CHECK_STR(plural(1, "page[|s").text, "page");
	CHECK_STR(plural(3, "page[|s").text, "pages");
}

TEST(each_loss_has_a_sentence_for_one_and_for_many)
{
	static const char *const texts[] = {
#define LOSS(code, name, stream, severity, unit, remedy, doc) doc,
#include "../../bpf/loss.def"
#undef LOSS
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const struct plural_text one = plural(1, texts[i]), many = plural(2, texts[i]);

		CHECK(strcmp(one.text, many.text));
		CHECK(!strpbrk(one.text, "[|]") && !strpbrk(many.text, "[|]"));
		CHECK(strlen(many.text) < sizeof(many.text) - 1);
	}
}
