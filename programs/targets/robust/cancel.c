/* Cancellation, deferred and asynchronous, immediate and later; pthread_exit; clean-up handlers run. */
#include "robust.h"

static volatile int cleaned;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void clean(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    cleaned++;
    pthread_mutex_unlock(&lock);
}

static void *deferred(void *unused)
{
    pthread_cleanup_push(clean, NULL);
    for (;;) {
        for (int i = 0; i < 1000; i++)
            robust_sink++;
        pthread_testcancel();
    }
    pthread_cleanup_pop(0);
    return unused;
}

static void *asynchronous(void *unused)
{
    int old;
    pthread_cleanup_push(clean, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    NEED(old == PTHREAD_CANCEL_DEFERRED);
    for (;;)
        robust_sink++;
    pthread_cleanup_pop(0);
    return unused;
}

static void *asleep(void *unused)
{
    pthread_cleanup_push(clean, NULL);
    burn(1);
    for (;;)
        pause();
    pthread_cleanup_pop(0);
    return unused;
}

/* Has reached no cancellation point when it is cancelled: it must run to its end. */
static void *never(void *ended)
{
    burn(3);
    __atomic_add_fetch((int *)ended, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void *leaves(void *unused)
{
    pthread_cleanup_push(clean, NULL);
    burn(1);
    pthread_exit((void *)5);
    pthread_cleanup_pop(0);
    return unused;
}

static void cancel(void *(*body)(void *), long after_us, int times)
{
    for (int i = 0; i < times; i++) {
        pthread_t thread;
        void *result;
        NEED(!pthread_create(&thread, NULL, body, NULL));
        if (after_us)
            usleep((useconds_t)after_us);
        NEED(!pthread_cancel(thread));
        NEED(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
    }
}

int main(void)
{
    int ended = 0;

    cancel(deferred, 3000, 30);
    printf("deferred %d\n", cleaned);
    cleaned = 0;
    cancel(asynchronous, 3000, 60);
    printf("asynchronous %d\n", cleaned);
    cleaned = 0;
    cancel(asleep, 3000, 20);
    printf("asleep %d\n", cleaned);

    /* Cancelled before it has begun: natively it always reaches its first cancellation point. */
    cleaned = 0;
    cancel(deferred, 0, 200);
    printf("at once %d\n", cleaned);
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        void *result;
        NEED(!pthread_create(&thread, NULL, never, &ended));
        NEED(!pthread_cancel(thread));
        NEED(!pthread_join(thread, &result) && result == NULL);
    }
    printf("ran on %d\n", ended);

    cleaned = 0;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *result;
        NEED(!pthread_create(&thread, NULL, leaves, NULL));
        NEED(!pthread_join(thread, &result) && result == (void *)5);
    }
    printf("left %d\n", cleaned);
    return 0;
}
