/* SPDX-License-Identifier: BSD-2-Clause */
/* syscall_args.h: the types of system call arguments. */
#ifndef GCPROF_SYSCALL_ARGS_H
#define GCPROF_SYSCALL_ARGS_H

/* The words of syscall_args_x86_64.def. */
enum syscall_arg {
	ARG_NONE,    /* there is no such argument */
	ARG_FD,      /* a file descriptor */
	ARG_DIRFD,   /* a directory's, or AT_FDCWD */
	ARG_PATH,    /* the address of a path, read when the call is recorded */
	ARG_ADDRESS, /* of memory */
	ARG_SIZE,    /* bytes */
	ARG_COUNT,   /* of things */
	ARG_FLAGS,   /* shown in hexadecimal */
	ARG_MODE,    /* shown in octal */
	ARG_NUMBER,  /* unsigned */
	ARG_SIGNED,
	ARG_FUTEX, /* the operation of futex() */
};

#endif
