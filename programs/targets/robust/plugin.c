/* A library that comes and goes. Compiled several times with another NUMBER. */
static volatile long calls;

__attribute__((constructor)) static void come(void) { calls = NUMBER; }

long plugin_work(long times)
{
    long sum = 0;
    for (long i = 0; i < times; i++)
        sum += (i ^ calls) & 7;
    return sum;
}

/* The same length whatever the number. */
long plugin_number(void) { return NUMBER; }
