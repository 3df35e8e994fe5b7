/* SPDX-License-Identifier: Apache-2.0 */
/* The network below tls.h, as a board has it. */
#ifndef NETWORK_H
#define NETWORK_H

#include "outcome.h"

/* Once. REFUSED: a person has to mend something. */
outcome network_start(void);

/* Take what has come, and do what is due. */
void network_poll(void);

/* The same, after a sleep of at most 10 ms. */
void network_wait(void);

#endif
