/* SPDX-License-Identifier: BSD-2-Clause */
/* model_owners.c: tests of whose function one is, and of the patterns of libraries. */
#include "model/findings/finding.h"
#include "test.h"

#define FUNCTION(kind, name_, module_, file_)                                                    \
	{                                                                                        \
		.name = (name_), .runtime = RUNTIME_##kind, .module = (module_), .file = (file_) \
	}

static const struct {
	struct model_function function;
	enum owner owner;
	const char *pattern;
} owners[] = {
	{FUNCTION(MANAGED, "java.util.regex.Pattern.compile", NULL, "Pattern.java"), OWNER_SYSTEM,
	 "java.util.regex.Pattern.compile"},
	{FUNCTION(MANAGED, "shop.Cart.add", NULL, "Cart.java"), OWNER_PROGRAM, NULL},
	{FUNCTION(MANAGED, "Queue.get", NULL, "/usr/lib/python3.11/queue.py"), OWNER_SYSTEM, "get"},
	{FUNCTION(MANAGED, "get", NULL, "/srv/app/store.py"), OWNER_PROGRAM, NULL},
	{FUNCTION(MANAGED, "lint", NULL, "/usr/lib/python3/site-packages/l.py"), OWNER_PACKAGE,
	 NULL},
	{FUNCTION(MANAGED, "concat", NULL, "node:buffer"), OWNER_SYSTEM, "concat"},
	{FUNCTION(NATIVE, "main.join", "/srv/app", "/src/app/join.go"), OWNER_PROGRAM, NULL},
	{FUNCTION(NATIVE, "runtime.growslice", "/srv/app", "/usr/lib/go-1.19/src/runtime/slice.go"),
	 OWNER_SYSTEM, "runtime.growslice"},
	/* Built with -trimpath. */
	{FUNCTION(NATIVE, "syscall.RawSyscall6", "/srv/app", "runtime/internal/syscall/linux.go"),
	 OWNER_SYSTEM, NULL},
	{FUNCTION(NATIVE, "main.join", "/srv/app", "ledger/join.go"), OWNER_PROGRAM, NULL},
	{FUNCTION(NATIVE, "connect", "/srv/app", "net/connect.c"), OWNER_PROGRAM, NULL},
	/* Each text is parsed once, and each module that has no .pyc file. */
	{FUNCTION(MANAGED, "parse", NULL, "/usr/lib/python3.11/ast.py"), OWNER_SYSTEM, "parse"},
	{FUNCTION(NATIVE, "regcomp", "/lib/libc.so.6", NULL), OWNER_SYSTEM, "regcomp"},
	{FUNCTION(NATIVE, "std::map<int, int>::map(std::map<int, int> const&)", "/srv/app",
		  "/usr/include/c++/12/bits/stl_map.h"),
	 OWNER_SYSTEM, "std::map<*::map("},
	{FUNCTION(NATIVE, "std::vector<int>::vector(std::vector<int> const&)", "/srv/app",
		  "/usr/include/c++/12/bits/stl_vector.h"),
	 OWNER_SYSTEM, "std::vector<*::vector(std::vector<"},
	{FUNCTION(NATIVE, "std::vector<int>::vector(unsigned long)", "/srv/app",
		  "/usr/include/c++/12/bits/stl_vector.h"),
	 OWNER_SYSTEM, NULL},
	{FUNCTION(NATIVE, "std::map<int, int>::find(int const&)", "/srv/app",
		  "/usr/include/c++/12/bits/stl_map.h"),
	 OWNER_SYSTEM, NULL},
	{FUNCTION(NATIVE, "regcompose", "/srv/app", NULL), OWNER_PROGRAM, NULL},
	{FUNCTION(NATIVE, "caml_oldify_one", "/srv/app", NULL), OWNER_SYSTEM, NULL},
	{FUNCTION(NATIVE, "camlApp__keep_12", "/srv/app", NULL), OWNER_PROGRAM, NULL},
	{FUNCTION(NATIVE, "execute_ex", "/usr/bin/php8.2", NULL), OWNER_SYSTEM, NULL},
	{FUNCTION(KERNEL, "asm_exc_page_fault", NULL, NULL), OWNER_SYSTEM, "asm_exc_page_fault"},
};

TEST(owners_and_patterns_of_functions)
{
	for (size_t i = 0; i < sizeof(owners) / sizeof(*owners); i++) {
		const struct pattern *pattern = pattern_of(&owners[i].function);

		printf("%s\n", owners[i].function.name);
		CHECK_EQ(owner_of(&owners[i].function), owners[i].owner);
		CHECK(!pattern == !owners[i].pattern);
		if (pattern)
			CHECK_STR(pattern->function, owners[i].pattern);
	}
}
