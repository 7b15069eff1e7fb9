/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_record_agent.c: the agent that the program and its children load. */
#include <stdio.h>

#include "cmd_record.h"
#include "util/log.h"

int recording_open_agent(struct recording *recording)
{
	const struct agent_kind *kind = recording->options.agent_kind;
	struct problem problem;

	return kind && agent_open(kind, &recording->user, &recording->agent, &problem)
		       ? recording_fail(&problem)
		       : 0;
}

void recording_choose_agent(struct recording *recording, char *const *words,
			    struct agent_verdict *verdict)
{
	const struct agent_kind *kind = recording->options.agent_kind;

	if (!kind)
		return;
	agent_judge_end(kind, words, verdict);
	if (verdict->harmful) {
		log_warning("--agent %s: %s; it would not run with the agent, so it is started "
			    "without it",
			    agent_name(kind), verdict->why);
		agent_close(&recording->agent);
	} else if (verdict->useless) {
		log_warning("--agent %s: %s, so its own allocations are not sampled; those of "
			    "programs that it starts may be",
			    agent_name(kind), verdict->why);
	}
}

void recording_expect_agent(struct recording *recording, const struct agent_verdict *verdict)
{
	const struct agent_kind *kind = recording->options.agent_kind;
	struct store_agent *agent = &recording->expected;

	if (!kind)
		return;
	agent->warned = verdict->harmful || verdict->useless;
	/* That a shell is no interpreter says nothing about the one that it starts. */
	if (agent_runtime(kind) && !verdict->has_runtime)
		agent->warned = false;
	snprintf(agent->name, sizeof(agent->name), "gcprof-%s", agent_name(kind));
	agent->file = agent_is_mapped(kind) ? agent_file(kind) : NULL;
	agent->runtime = agent_runtime(kind);
	agent->harmful = verdict->harmful;
	store_expect_agent(recording->store, agent);
}
