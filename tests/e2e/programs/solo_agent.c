/* SPDX-License-Identifier: BSD-2-Clause */
/* solo_agent.c: a JVMTI agent of somebody else's, which has the samples of its Java virtual
 * machine; and what our header says of JNI and JVMTI, beside the headers of a JDK. */
#include <jvmti.h>
#include <stddef.h>

#define Agent_OnAttach ours
#include "../../../gc/agents/jvm/jvm.h"

#define SAME(ours, member, theirs, function)                                               \
	_Static_assert(offsetof(struct ours, member) == offsetof(struct theirs, function), \
		       #function)

SAME(jni_functions, find_class, JNINativeInterface_, FindClass);
SAME(jni_functions, exception_clear, JNINativeInterface_, ExceptionClear);
SAME(jni_functions, new_global, JNINativeInterface_, NewGlobalRef);
SAME(jni_functions, delete_global, JNINativeInterface_, DeleteGlobalRef);
SAME(jni_functions, delete_local, JNINativeInterface_, DeleteLocalRef);
SAME(jni_functions, is_same, JNINativeInterface_, IsSameObject);
SAME(jni_functions, alloc_object, JNINativeInterface_, AllocObject);
SAME(jni_functions, get_jvm, JNINativeInterface_, GetJavaVM);
SAME(jni_functions, new_weak, JNINativeInterface_, NewWeakGlobalRef);
SAME(jni_functions, delete_weak, JNINativeInterface_, DeleteWeakGlobalRef);
SAME(jni_functions, exception_check, JNINativeInterface_, ExceptionCheck);
SAME(jvm_functions, detach, JNIInvokeInterface_, DetachCurrentThread);
SAME(jvm_functions, get_env, JNIInvokeInterface_, GetEnv);
SAME(jvm_functions, attach_daemon, JNIInvokeInterface_, AttachCurrentThreadAsDaemon);
SAME(jvmti_functions, set_event, jvmtiInterface_1_, SetEventNotificationMode);
SAME(jvmti_functions, set_callbacks, jvmtiInterface_1_, SetEventCallbacks);
SAME(jvmti_functions, dispose, jvmtiInterface_1_, DisposeEnvironment);
SAME(jvmti_functions, add_capabilities, jvmtiInterface_1_, AddCapabilities);

_Static_assert(offsetof(struct jvmti_callbacks, gc_start) ==
			       offsetof(jvmtiEventCallbacks, GarbageCollectionStart) &&
		       offsetof(struct jvmti_callbacks, gc_finish) ==
			       offsetof(jvmtiEventCallbacks, GarbageCollectionFinish) &&
		       offsetof(struct jvmti_callbacks, sample) ==
			       offsetof(jvmtiEventCallbacks, SampledObjectAlloc),
	       "callbacks");
_Static_assert((int)JVMTI_GC_START == JVMTI_EVENT_GARBAGE_COLLECTION_START &&
		       (int)JVMTI_GC_FINISH == JVMTI_EVENT_GARBAGE_COLLECTION_FINISH &&
		       (int)JVMTI_SAMPLE == JVMTI_EVENT_SAMPLED_OBJECT_ALLOC,
	       "events");
_Static_assert(JVMTI_NOT_AVAILABLE == JVMTI_ERROR_NOT_AVAILABLE &&
		       JVMTI_VERSION_WANTED == JVMTI_VERSION_11 &&
		       JNI_VERSION_WANTED == JNI_VERSION_1_6 &&
		       sizeof(struct jvmti_capabilities) == sizeof(jvmtiCapabilities) &&
		       sizeof(struct jni_attach) == sizeof(JavaVMAttachArgs),
	       "numbers");

/* Bits of a structure have no offsets: the same ones are set. */
static int are_alike(const jvmtiCapabilities *theirs)
{
	const struct jvmti_capabilities ours = {
		{UINT64_C(1) << JVMTI_CAN_SAMPLE | UINT64_C(1) << JVMTI_CAN_GC_EVENTS}};

	return !__builtin_memcmp(&ours, theirs, sizeof(ours));
}

/* A machine calls it. */
JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	jvmtiCapabilities wanted = {0};
	jvmtiEnv *env;

	(void)options;
	(void)reserved;
	wanted.can_generate_sampled_object_alloc_events = 1;
	wanted.can_generate_garbage_collection_events = 1;
	if (!are_alike(&wanted) || (*vm)->GetEnv(vm, (void **)&env, JVMTI_VERSION_11))
		return 1;
	return (*env)->AddCapabilities(env, &wanted);
}
