/* SPDX-License-Identifier: BSD-2-Clause */
/* main.c: a small Lisp interpreter: runs the program in a file. */
#include <getopt.h>

#include "lisp.h"

static const char usage[] = "usage: lisp FILE [NAME=VALUE]...\n"
			    "Runs a Lisp program. NAME=VALUE sets what the program declares with\n"
			    "(parameter NAME DEFAULT); a VALUE that is no integer is a string.\n"
			    "\n"
			    "  -h, --help   this text\n";

static void parse_parameter(struct lisp *lisp, const char *text)
{
	const char *equals = strchr(text, '=');
	struct parameter *parameter = &lisp->parameters[lisp->n_parameters];
	if (!equals || equals == text)
		die_value("parameter", text, "of the form NAME=VALUE");
	if (lisp->n_parameters == MAX_PARAMETERS)
		die("more than %d parameters", MAX_PARAMETERS);
	parameter->name = text;
	parameter->name_length = (size_t)(equals - text);
	parameter->value = equals + 1;
	lisp->n_parameters++;
}

static void parse_options(struct lisp *lisp, int argc, char **argv)
{
	static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
	int option;
	while ((option = getopt_long(argc, argv, "+h", options, NULL)) != -1) {
		if (option != 'h')
			die_usage();
		fputs(usage, stdout);
		exit(EXIT_SUCCESS);
	}
	if (optind == argc) {
		fprintf(stderr, "lisp: which file?\n");
		die_usage();
	}
	lisp->file = argv[optind++];
	while (optind < argc)
		parse_parameter(lisp, argv[optind++]);
}

/* The outermost Lisp frame stands for the program itself. */
NAMED_FUNCTION static void run_program(struct lisp *lisp, const char *text, size_t size)
{
	uint32_t code = lisp_code(lisp, "program", 1);
	GC_FRAME(lisp->thread, frame, code, struct pair * program;);
	lisp->function = &frame.header;
	frame.root.program = read_program(lisp, text, size);
	eval_body(lisp, frame.root.program, NULL);
	lisp->function = NULL;
	GC_FRAME_END(lisp->thread, frame);
}

int main(int argc, char **argv)
{
	static struct lisp lisp;
	char *text;
	size_t size;
	int err;
	parse_options(&lisp, argc, argv);
	err = read_whole_file(lisp.file, &text, &size);
	if (err)
		die("cannot read %s: %s", lisp.file, strerror(-err));
	lisp_stack_init(&lisp);
	lisp_open(&lisp);
	run_program(&lisp, text, size);
	free(text);
	lisp_close(&lisp);
	if (fflush(stdout))
		die("cannot write the output: %s", strerror(errno));
	return EXIT_SUCCESS;
}
