/* An image that does nothing by itself: machine.py calls the functions linked into it. */
int main(void)
{
    for (;;) {
    }
}
