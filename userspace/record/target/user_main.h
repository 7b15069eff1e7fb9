/* SPDX-License-Identifier: BSD-2-Clause */
/* user_main.h: the process that acts with the user's rights (../machine/user_task.h). */
#ifndef GCPROF_USER_MAIN_H
#define GCPROF_USER_MAIN_H

/* An exit status. */
int user_main(void);

#endif
