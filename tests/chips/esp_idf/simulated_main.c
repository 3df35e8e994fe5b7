/* SPDX-License-Identifier: Apache-2.0 */
/* On this machine main is what calls app_main; the port's own main is compiled as port_main. */
void app_main(void);

int main(void)
{
    app_main();
    return 0;
}
