/* SPDX-License-Identifier: BSD-2-Clause */
/* agent.c: starts in a Java virtual machine, and follows its sampled objects. */
/*
 * The virtual machine takes the samples, and a recorder sees them from outside. The agent only
 * finds the outcomes of the objects, which HotSpot passes to agents that have requested its events.
 * While no recorder is attached the agent requests no events.
 *
 * With LD_PRELOAD the agent interposes a function of libjvm.so that the Java launcher and
 * libjava.so call whenever they look up a built-in class, and calls the real one. A running virtual
 * machine is asked to load the agent, and calls Agent_OnAttach().
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "jvm.h"

#define PUBLIC __attribute__((visibility("default")))

enum {
	IDLE_NS = 50000000, /* interval of checks whether a recorder attached or left */
	IDLE_TURNS = 100,   /* checks after which events without a recorder are given up */
};

enum { NEW, STARTED, REFUSED };

static uint32_t state;                                   /* atomic */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the next ones */
static struct jvmti *jvmti;                              /* with our events; NULL: none */
static struct jvm *machine;

static uint32_t pauses_ended; /* atomic, a futex */

/* --- events ---------------------------------------------------------------------------- */

static void gc_start(struct jvmti *env)
{
	(void)env;
	follow_pause();
}

/* The virtual machine is stopped, so none of its functions may be called. */
static void gc_finish(struct jvmti *env)
{
	(void)env;
	__atomic_fetch_add(&pauses_ended, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &pauses_ended, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void sample(struct jvmti *env, struct jni *jni, jvm_object thread, jvm_object object,
		   jvm_object class, int64_t size)
{
	(void)env;
	(void)thread;
	(void)class;
	(void)size;
	if (gcprof_wants_outcomes())
		follow_object(jni, object);
}

static const struct jvmti_callbacks callbacks = {
	.gc_start = gc_start,
	.gc_finish = gc_finish,
	.sample = sample,
};

static const enum jvmti_event events[] = {JVMTI_GC_START, JVMTI_GC_FINISH, JVMTI_SAMPLE};

static void leave(void)
{
	pthread_mutex_lock(&lock);
	if (jvmti)
		jvmti->functions->dispose(jvmti);
	jvmti = NULL;
	pthread_mutex_unlock(&lock);
}

/* Requests the events, on a thread of the virtual machine. 0 or an error of JVMTI. */
static int enter(void)
{
	const struct jvmti_capabilities wanted = {
		{UINT64_C(1) << JVMTI_CAN_SAMPLE | UINT64_C(1) << JVMTI_CAN_GC_EVENTS}};
	struct jvmti *env = NULL;
	void *found = NULL;
	int err = 0;

	pthread_mutex_lock(&lock);
	if (!jvmti) {
		err = machine->functions->get_env(machine, &found, JVMTI_VERSION_WANTED);
		env = found;
		err = err ? JVMTI_NOT_AVAILABLE : env->functions->add_capabilities(env, &wanted);
		err = err ? err : env->functions->set_callbacks(env, &callbacks, sizeof(callbacks));
		for (size_t i = 0; !err && i < sizeof(events) / sizeof(events[0]); i++)
			err = env->functions->set_event(env, 1, events[i], NULL);
		if (err && env)
			env->functions->dispose(env);
		jvmti = err ? NULL : env;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

/* --- the thread ------------------------------------------------------------------------ */

/* Waits for the end of a pause; false: timeout. */
static bool wait_for_pause(void)
{
	static uint32_t seen;
	const struct timespec most = {.tv_nsec = IDLE_NS};
	uint32_t before = seen;

	syscall(SYS_futex, &pauses_ended, FUTEX_WAIT_PRIVATE, seen, &most, NULL, 0);
	seen = __atomic_load_n(&pauses_ended, __ATOMIC_ACQUIRE);
	return seen != before;
}

/* Tells the recorder that asked for the agent, and the user, why there are no outcomes. */
static void report_failure(int err)
{
	char text[256];
	int size =
		snprintf(text, sizeof(text),
			 err == JVMTI_NOT_AVAILABLE
				 ? "gcprof: --agent java: another agent has the samples of this "
				   "Java virtual machine, so nothing is known of survival\n"
				 : "gcprof: --agent java: error %d of this Java virtual machine, "
				   "so nothing is known of survival\n",
			 err);

	if (write(STDERR_FILENO, text, (size_t)size) < 0)
		return;
}

/* Runs while a recorder is attached. */
static void follow(struct jni *jni, struct gcprof_thread *thread)
{
	int err = follow_begin(jni);

	if (!err)
		err = enter();
	if (err)
		report_failure(err);
	while (gcprof_wants_outcomes()) {
		bool paused = wait_for_pause();

		if (!err)
			follow_sweep(jni, thread, paused);
	}
	leave();
	follow_end(jni);
}

static int open_provider(struct gcprof_thread **thread)
{
	struct gcprof_provider *provider;
	struct gcprof_options options;
	int err = gcprof_options_default(&options);

	options.name = "gcprof-java";
	options.version = GCPROF_VERSION;
	err = err ? err : gcprof_open(&options, &provider);
	return err ? err : gcprof_thread_attach(provider, NULL, thread);
}

static void *run(void *context)
{
	struct jni_attach attach = {.version = JNI_VERSION_WANTED, .name = "gcprof"};
	struct gcprof_thread *thread;
	void *jni = NULL;

	(void)context;
	if (machine->functions->attach_daemon(machine, &jni, &attach)) {
		__atomic_store_n(&state, REFUSED, __ATOMIC_RELEASE);
		return NULL;
	}
	if (open_provider(&thread)) {
		__atomic_store_n(&state, REFUSED, __ATOMIC_RELEASE);
		leave();
		machine->functions->detach(machine);
		return NULL;
	}
	for (;;) {
		/* The recorder that loaded the agent may have ended before it attached. */
		for (unsigned turns = 1; !gcprof_wants_outcomes(); turns++) {
			wait_for_pause();
			if (turns % IDLE_TURNS == 0)
				leave();
		}
		follow(jni, thread);
	}
	return NULL;
}

/* --- start ----------------------------------------------------------------------------- */

/* Starts the agent's thread with signals blocked: they are for the program's own threads. */
static int start_thread(void)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int err = -pthread_attr_init(&attributes);

	if (err)
		return err;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&thread, &attributes, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return err;
}

/* Starts the agent once, when the virtual machine has started. */
static void begin(struct jvm *jvm)
{
	uint32_t expected = NEW;

	if (!__atomic_compare_exchange_n(&state, &expected, STARTED, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	machine = jvm;
	if (start_thread())
		__atomic_store_n(&state, REFUSED, __ATOMIC_RELEASE);
}

/* Whether the virtual machine has started; before, JVMTI is not available to its threads. */
static bool is_live(struct jvm *jvm)
{
	void *env = NULL;

	if (jvm->functions->get_env(jvm, &env, JVMTI_VERSION_WANTED) || !env)
		return false;
	((struct jvmti *)env)->functions->dispose(env);
	return true;
}

typedef jvm_object find_class(struct jni *jni, const char *name);

static find_class *find_next(void)
{
	void *library = dlopen("libjvm.so", RTLD_LAZY | RTLD_NOLOAD), *found;
	find_class *next = NULL;

	found = library ? dlsym(library, "JVM_FindClassFromBootLoader") : NULL;
	memcpy(&next, &found, sizeof(next));
	return next;
}

PUBLIC jvm_object JVM_FindClassFromBootLoader(struct jni *jni, const char *name)
{
	static find_class *next; /* atomic */
	find_class *function = __atomic_load_n(&next, __ATOMIC_RELAXED);
	struct jvm *jvm;

	if (!function) {
		function = find_next();
		__atomic_store_n(&next, function, __ATOMIC_RELAXED);
	}
	if (__atomic_load_n(&state, __ATOMIC_RELAXED) == NEW &&
	    !jni->functions->get_jvm(jni, &jvm) && is_live(jvm))
		begin(jvm);
	return function ? function(jni, name) : NULL;
}

/* The recorder reads the return value. */
PUBLIC int32_t Agent_OnAttach(struct jvm *jvm, char *options, void *reserved)
{
	int err;

	(void)options;
	(void)reserved;
	machine = jvm;
	err = enter();
	if (!err)
		begin(jvm);
	if (err || __atomic_load_n(&state, __ATOMIC_ACQUIRE) == STARTED)
		return err;
	leave();
	return -1;
}
