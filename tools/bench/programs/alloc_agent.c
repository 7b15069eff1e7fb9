// SPDX-License-Identifier: BSD-2-Clause
/* alloc_agent.c: a JVMTI agent that takes allocation samples with stacks, as Java profilers do. */
#include <jvmti.h>
#include <stdatomic.h>
#include <stdio.h>

enum { INTERVAL = 512 << 10, DEPTH = 64 };

static _Atomic long samples, frames;

static void JNICALL take_sample(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object,
				jclass klass, jlong size)
{
	jvmtiFrameInfo stack[DEPTH];
	char *name = NULL;
	jint n = 0;

	(void)env;
	(void)object;
	(void)size;
	(*jvmti)->GetStackTrace(jvmti, thread, 0, DEPTH, stack, &n);
	if (!(*jvmti)->GetClassSignature(jvmti, klass, &name, NULL))
		(*jvmti)->Deallocate(jvmti, (unsigned char *)name);
	samples++;
	frames += n;
}

JNIEXPORT void JNICALL Agent_OnUnload(JavaVM *vm)
{
	(void)vm;
	fprintf(stderr, "agent: %ld samples, %ld frames\n", (long)samples, (long)frames);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	jvmtiCapabilities wanted = {.can_generate_sampled_object_alloc_events = 1};
	jvmtiEventCallbacks callbacks = {.SampledObjectAlloc = take_sample};
	jvmtiEnv *jvmti;

	(void)options;
	(void)reserved;
	return (*vm)->GetEnv(vm, (void **)&jvmti, JVMTI_VERSION_11) ||
	       (*jvmti)->AddCapabilities(jvmti, &wanted) ||
	       (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof(callbacks)) ||
	       (*jvmti)->SetHeapSamplingInterval(jvmti, INTERVAL) ||
	       (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE,
						  JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, NULL);
}
