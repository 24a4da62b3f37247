/* A library that is loaded and unloaded. Compiled several times with different NUMBERs. */
static volatile long calls;

__attribute__((constructor)) static void come(void) { calls = NUMBER; }

long plugin_work(long times)
{
    long sum = 0;
    for (long i = 0; i < times; i++)
        sum += (i ^ calls) & 7;
    return sum;
}

/* The same length for every number. */
long plugin_number(void) { return NUMBER; }
