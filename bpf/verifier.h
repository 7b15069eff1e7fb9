/* SPDX-License-Identifier: BSD-2-Clause */
/* verifier.h: makes code that old verifiers accept, whichever clang compiles it. */
#ifndef GCPROF_VERIFIER_H
#define GCPROF_VERIFIER_H

/* For short loops. Linux 6.1 refuses loops that clang enters in the middle. */
#ifdef __bpf__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL
#endif

/*
 * The same value, of which the compiler knows nothing. It is for values that the verifier must see
 * compared or masked right before they are used as a size or an index: clang omits what it can
 * prove to be redundant, and compares one copy of a value and uses another. Old verifiers follow
 * neither, nor do they keep bounds across calls. The result must stay in 64 bits up to its use: of
 * fewer, clang compares the low half of a register and passes all of it.
 */
static inline unsigned long long opaque(unsigned long long value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

#endif
