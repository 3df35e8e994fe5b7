/* SPDX-License-Identifier: Apache-2.0 */
/* A core that waits, for assembly that machine.py calls without any C. */
int main(void)
{
    for (;;) {
    }
}
