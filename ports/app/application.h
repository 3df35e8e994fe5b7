/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smartwatch: it takes windows of motion samples, and everything it sends about them is encrypted. The
 * same on every port.
 */
#ifndef APPLICATION_H
#define APPLICATION_H

/*
 * Answer requests until one says stop or the link closes. Returns a process exit code: 0, or 1 if the link
 * broke.
 */
int application_run(void);

#endif
