/* Numbers that nobody will look at soon: written past the cache where the processor can. */
#define CACHE_LINE 64 /* bytes */

#if defined(__SSE2__)
#include <immintrin.h>
#if defined(__AVX512F__)
typedef __m512d Wide;
#define LOAD_WIDE _mm512_loadu_pd
#define ZERO_WIDE _mm512_setzero_pd
#define STREAM_WIDE _mm512_stream_pd
#elif defined(__AVX__)
typedef __m256d Wide;
#define LOAD_WIDE _mm256_loadu_pd
#define ZERO_WIDE _mm256_setzero_pd
#define STREAM_WIDE _mm256_stream_pd
#else
typedef __m128d Wide;
#define LOAD_WIDE _mm_loadu_pd
#define ZERO_WIDE _mm_setzero_pd
#define STREAM_WIDE _mm_stream_pd
#endif

/* By whole lines of the cache, because a part of one would wait for its rest; zeros instead of none. */
static void put_away(void *place, const void *numbers, int64_t bytes) {
    char *to = place;
    const char *from = numbers;
    int64_t i = (int64_t)(-(uintptr_t)to % CACHE_LINE);
    if (i > bytes) i = bytes;
    if (from)
        memcpy(to, from, (size_t)i);
    else
        memset(to, 0, (size_t)i);
    for (; i + CACHE_LINE <= bytes; i += CACHE_LINE)
        for (int64_t k = i; k < i + CACHE_LINE; k += (int64_t)sizeof(Wide))
            STREAM_WIDE((double *)(void *)(to + k),
                        from ? LOAD_WIDE((const double *)(const void *)(from + k)) : ZERO_WIDE());
    if (from)
        memcpy(to + i, from + i, (size_t)(bytes - i));
    else
        memset(to + i, 0, (size_t)(bytes - i));
}
static void settle(void) { _mm_sfence(); }
#else
static void put_away(void *place, const void *numbers, int64_t bytes) {
    if (numbers)
        memcpy(place, numbers, (size_t)bytes);
    else
        memset(place, 0, (size_t)bytes);
}
static void settle(void) {}
#endif
