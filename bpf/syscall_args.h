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
	/* Shown in words, see syscall_words.def of the model: */
	ARG_OPEN,   /* flags of open() */
	ARG_AT,     /* flags of calls with a directory */
	ARG_ACCESS, /* rights that access() checks */
	ARG_PROT,   /* of memory */
	ARG_ADVICE, /* of madvise() */
	ARG_MSYNC,
	ARG_WHENCE, /* of lseek() */
	ARG_FCNTL,  /* the command */
	ARG_EPOLL,  /* the operation of epoll_ctl() */
	ARG_WAIT,   /* options of wait4() */
	ARG_SIGNAL,
	ARG_FAMILY, /* of a socket */
	ARG_SOCKET, /* its type and flags */
	ARG_MSG,    /* flags of sendmsg() and recvmsg() */
	ARG_CLOCK,
	ARG_TIMER,  /* flags of clock_nanosleep() */
	ARG_RANDOM, /* flags of getrandom() */
};

#define SYSCALL_ARGS_MAX 3 /* that are recorded */

/* How many of them a call has: the registers of the others may hold anything. */
static inline unsigned syscall_args_of(unsigned long number)
{
	static const unsigned char others[] = {
#define SYSCALL(number, name, arguments) \
	[number] = (arguments) < SYSCALL_ARGS_MAX ? SYSCALL_ARGS_MAX - (arguments) : 0,
#include "syscalls_x86_64.def"
#undef SYSCALL
	};

	return SYSCALL_ARGS_MAX - (number < sizeof(others) ? others[number] : 0);
}

#endif
