/* Kernels and their interpreters for one type; engine.c includes it for double and for float.

   A kernel is one operation. `fast` is branch-free, so that a loop over it becomes vector code, and
   tells by the top bit of `far` where an operand lies outside the range of the vector maths; `safe`
   is right everywhere. Both give the same bits inside the range. */

typedef void (*NAMED(Block))(REAL **slots, const Step *step, int64_t n);

#define OPERAND(name) const REAL *name = slots[step->name]
#define EACH for (int64_t i = 0; i < n; i++)
#define SIGNATURE(name) \
    static void NAMED(block_##name)(REAL **slots, const Step *step, int64_t n)

#define PLAIN_1(name, body) \
    static inline REAL NAMED(safe_##name)(REAL a) { return body; } \
    SIGNATURE(name) { \
        REAL *out = slots[step->out]; \
        OPERAND(a); \
        INDEPENDENT EACH out[i] = NAMED(safe_##name)(a[i]); \
    }
#define PLAIN_2(name, body) \
    static inline REAL NAMED(safe_##name)(REAL a, REAL b) { return body; } \
    SIGNATURE(name) { \
        REAL *out = slots[step->out]; \
        OPERAND(a); \
        OPERAND(b); \
        INDEPENDENT EACH out[i] = NAMED(safe_##name)(a[i], b[i]); \
    }
#define PLAIN_3(name, body) \
    static inline REAL NAMED(safe_##name)(REAL a, REAL b, REAL c) { return body; } \
    SIGNATURE(name) { \
        REAL *out = slots[step->out]; \
        OPERAND(a); \
        OPERAND(b); \
        OPERAND(c); \
        INDEPENDENT EACH out[i] = NAMED(safe_##name)(a[i], b[i], c[i]); \
    }

/* Own vector maths: the result stands apart from the operands, which the second loop still reads. */
#define OWN_1(name, NAME) \
    VM_INLINE REAL NAMED(fast_##name)(REAL a, BITS *far) { \
        *far |= OUTSIDE(NAME)(a); \
        return VECTOR(name)(a); \
    } \
    static inline REAL NAMED(safe_##name)(REAL a) { \
        return OUTSIDE(NAME)(a) >> TOP ? CAREFUL(name)(a) : VECTOR(name)(a); \
    } \
    SIGNATURE(name) { \
        REAL *restrict out = slots[step->out]; \
        OPERAND(a); \
        BITS far = 0; \
        INDEPENDENT EACH out[i] = NAMED(fast_##name)(a[i], &far); \
        if (far >> TOP) EACH out[i] = NAMED(safe_##name)(a[i]); \
    }
#define OWN_2(name, NAME) \
    VM_INLINE REAL NAMED(fast_##name)(REAL a, REAL b, BITS *far) { \
        *far |= OUTSIDE(NAME)(a, b); \
        return VECTOR(name)(a, b); \
    } \
    static inline REAL NAMED(safe_##name)(REAL a, REAL b) { \
        return OUTSIDE(NAME)(a, b) >> TOP ? CAREFUL(name)(a, b) : VECTOR(name)(a, b); \
    } \
    SIGNATURE(name) { \
        REAL *restrict out = slots[step->out]; \
        OPERAND(a); \
        OPERAND(b); \
        BITS far = 0; \
        INDEPENDENT EACH out[i] = NAMED(fast_##name)(a[i], b[i], &far); \
        if (far >> TOP) EACH out[i] = NAMED(safe_##name)(a[i], b[i]); \
    }
#define PAIR(name, NAME) \
    static inline void NAMED(safe_##name)(REAL a, REAL *first, REAL *second) { \
        if (OUTSIDE(NAME)(a) >> TOP) \
            CAREFUL(name)(a, first, second); \
        else \
            VECTOR(name)(a, first, second); \
    } \
    SIGNATURE(name) { \
        REAL *restrict out = slots[step->out]; \
        REAL *restrict other = slots[step->b]; \
        OPERAND(a); \
        BITS far = 0; \
        INDEPENDENT EACH { \
            far |= OUTSIDE(NAME)(a[i]); \
            VECTOR(name)(a[i], out + i, other + i); \
        } \
        if (far >> TOP) EACH NAMED(safe_##name)(a[i], out + i, other + i); \
    }

/* One operand is a number for all points. */
#define PLAIN_AT_b(of, name) \
    SIGNATURE(name) { \
        REAL *out = slots[step->out]; \
        OPERAND(a); \
        const REAL number = *slots[step->b]; \
        INDEPENDENT EACH out[i] = NAMED(safe_##of)(a[i], number); \
    }
#define PLAIN_AT_a(of, name) \
    SIGNATURE(name) { \
        REAL *out = slots[step->out]; \
        const REAL number = *slots[step->a]; \
        OPERAND(b); \
        INDEPENDENT EACH out[i] = NAMED(safe_##of)(number, b[i]); \
    }
#define OWN_AT_b(of, name) \
    SIGNATURE(name) { \
        REAL *restrict out = slots[step->out]; \
        OPERAND(a); \
        const REAL number = *slots[step->b]; \
        BITS far = 0; \
        INDEPENDENT EACH out[i] = NAMED(fast_##of)(a[i], number, &far); \
        if (far >> TOP) EACH out[i] = NAMED(safe_##of)(a[i], number); \
    }
#define OWN_AT_a(of, name) \
    SIGNATURE(name) { \
        REAL *restrict out = slots[step->out]; \
        const REAL number = *slots[step->a]; \
        OPERAND(b); \
        BITS far = 0; \
        INDEPENDENT EACH out[i] = NAMED(fast_##of)(number, b[i], &far); \
        if (far >> TOP) EACH out[i] = NAMED(safe_##of)(number, b[i]); \
    }

#include "kernels.h"

static REAL *NAMED(memory)(int64_t blocks, int64_t block, void **owned) {
    const uint64_t most = (SIZE_MAX - CACHE_LINE) / sizeof(REAL);
    if (blocks && (uint64_t)block > most / (uint64_t)blocks) return NULL;
    *owned = malloc((size_t)(blocks * block) * sizeof(REAL) + CACHE_LINE);
    if (!*owned) return NULL;
    return (REAL *)(((uintptr_t)*owned + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
}

/* By halves, in an order that depends on the count alone; eight sums run side by side at the end. */
static double NAMED(sum)(const REAL *x, int64_t count) {
    if (count > 128) {
        const int64_t half = count / 2 / 8 * 8;
        return NAMED(sum)(x, half) + NAMED(sum)(x + half, count - half);
    }
    double part[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (int k = 0; k < 8; k++) part[k] += (double)x[i + k];
    for (; i < count; i++) part[i % 8] += (double)x[i];
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

static int NAMED(run)(const Plan *plan, void *const *arguments, const int64_t *strides,
                      void *const *results, int sums, int64_t first, int64_t last) {
    const int64_t block = plan->block, numbers = plan->arguments + plan->results;
    const int64_t blocks = plan->filled + plan->blocks;
    const int64_t slot_count = numbers + plan->numbers + blocks;
    const int64_t bytes = (last - first) * plan->results * (int64_t)sizeof(REAL);
    const bool apart = !sums && bytes >= STREAMED; /* results are put away block by block */
    const int64_t extra = plan->arguments + (sums || apart ? plan->results : 0);
    void *owned = NULL;
    REAL **slots = malloc(((size_t)slot_count + 1) * sizeof *slots);
    REAL *memory = NAMED(memory)(blocks + extra, block, &owned);
    if (!slots || !memory) {
        free(slots);
        free(owned);
        return 1;
    }
    REAL *number = plan->number, *spare = memory + blocks * block;
    for (int64_t k = 0; k < plan->numbers; k++) slots[numbers + k] = number + k;
    for (int64_t k = 0; k < blocks; k++) slots[numbers + plan->numbers + k] = memory + k * block;
    for (int64_t k = 0; k < plan->filled; k++)
        for (int64_t i = 0; i < block; i++) memory[k * block + i] = number[plan->filler[k]];
    for (int64_t k = 0; k < plan->arguments; k++)
        if (strides[k] == 0) {
            slots[k] = spare + k * block;
            for (int64_t i = 0; i < block; i++) slots[k][i] = *(const REAL *)arguments[k];
        }
    if (sums || apart)
        for (int64_t k = 0; k < plan->results; k++)
            slots[plan->arguments + k] = spare + (plan->arguments + k) * block;
    const Step *end = plan->step + plan->steps;
    for (int64_t start = first, n; start < last; start += n) {
        n = last - start < block ? last - start : block;
        for (int64_t k = 0; k < plan->arguments; k++)
            if (strides[k]) slots[k] = (REAL *)arguments[k] + start;
        if (!sums && !apart)
            for (int64_t k = 0; k < plan->results; k++)
                slots[plan->arguments + k] = (REAL *)results[k] + start;
        for (const Step *step = plan->step; step < end; step++)
            NAMED(blocks)[step->code](slots, step, n);
        if (sums)
            for (int64_t k = 0; k < plan->results; k++)
                ((double *)results[k])[start / block] = NAMED(sum)(slots[plan->arguments + k], n);
        if (apart)
            for (int64_t k = 0; k < plan->results; k++)
                put_away((REAL *)results[k] + start, slots[plan->arguments + k],
                         n * (int64_t)sizeof(REAL));
    }
    if (apart) settle();
    free(slots);
    free(owned);
    return 0;
}

/* A kernel may not write over its operand: that is read from a copy where both are the same. */
static void NAMED(vector)(int code, REAL *result, const REAL *array, int64_t count) {
    REAL copy[512];
    const Step step = {0, 0, 1, 1, 1};
    for (int64_t start = 0; start < count; start += 512) {
        const int64_t n = count - start < 512 ? count - start : 512;
        REAL *slots[2] = {result + start, (REAL *)array + start};
        if (result == array) {
            memcpy(copy, slots[1], (size_t)n * sizeof *copy);
            slots[1] = copy;
        }
        NAMED(blocks)[code](slots, &step, n);
    }
}

/* One point. */

static void NAMED(start)(const Plan *plan, REAL *values) {
    const REAL *number = plan->number;
    REAL *place = values + plan->arguments + plan->results;
    for (int64_t k = 0; k < plan->numbers; k++) place[k] = number[k];
    for (int64_t k = 0; k < plan->filled; k++) place[plan->numbers + k] = number[plan->filler[k]];
}

#define A values[step->a]
#define B values[step->b]
#define C values[step->c]
#define O values[step->out]
static void NAMED(point)(const Plan *plan, REAL *restrict values) {
    const Step *end = plan->step + plan->steps;
    for (const Step *step = plan->step; step < end; step++) switch (step->code) {
            CASES
        }
}
#undef A
#undef B
#undef C
#undef O
